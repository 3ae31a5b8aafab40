import { expect, it } from 'vitest';
import type { PauseChoice } from '../../../src/config/choices.ts';
import type { Target } from '../../../src/operator/target.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { reportServedApis } from '../../../src/session/start/served-apis.ts';

const metadata = { namespace: 'shop', name: 'manager' };
const target: Target = {
  namespace: 'shop',
  services: [
    {
      service: { metadata: { namespace: 'shop', name: 'hooks' }, spec: {} },
      ...{ serverName: '', calls: [], ports: [], source: '' },
    },
  ],
  manager: {
    ref: { kind: 'Deployment', ...metadata },
    object: { metadata, spec: { selector: {}, template: { spec: { containers: [] } } } },
    ...{ container: { name: 'manager' }, source: '' },
  },
  apis: [
    { name: 'v1.taken', service: 'hooks', calls: [] },
    { name: 'v1.paused', service: 'metrics', calls: [] },
  ],
};

it.each<[PauseChoice, string[]]>([
  [
    'auto',
    [
      'Service shop/hooks also backs APIService v1.taken,',
      'Deployment shop/manager also backs APIService v1.paused,',
    ],
  ],
  ['lease', ['Service shop/hooks also backs APIService v1.taken,']],
])('warns of the APIs that nobody answers: %s', (choice, expected) => {
  const events: DevloopEvent[] = [];
  reportServedApis(target, choice, (event) => void events.push(event));
  expect(events).toMatchObject(
    expected.map((text) => ({ type: 'warning', message: expect.stringContaining(text) })),
  );
});
