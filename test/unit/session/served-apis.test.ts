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

const TAKEN = { code: 'apis.of-service', values: { service: { name: 'hooks' }, apis: ['v1.taken'] } };
const PAUSED = { code: 'apis.of-manager', values: { manager: { name: 'manager' }, apis: ['v1.paused'] } };

it.each<[PauseChoice, object[]]>([
  ['auto', [TAKEN, PAUSED]],
  ['lease', [TAKEN]],
])('warns of the APIs that nobody answers: %s', (choice, expected) => {
  const events: DevloopEvent[] = [];
  reportServedApis(target, choice, (event) => void events.push(event));
  expect(events).toMatchObject(expected);
});
