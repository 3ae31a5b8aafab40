import { expect, it } from 'vitest';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { invitation } from '../../../src/session/serve.ts';
import { anyTarget } from '../../../src/session/start/plan.ts';
import type { Session } from '../../../src/session/start/session.ts';

it('says that the manager is paused only where one is', () => {
  const { manager, namespace } = anyTarget('shop');
  const files = { keyPairDirectory: '/keys' } as Session['files'];
  const invited = (pause: Session['plan']['pause']) =>
    invitation({ target: { namespace, services: [] }, plan: { pause } as Session['plan'], files });
  expect(invited([deploymentPause.pause(manager)])).toMatchObject({
    code: 'session.start-process',
    values: { isPaused: true },
  });
  expect(invited([])).toMatchObject({ values: { isPaused: false } });
});
