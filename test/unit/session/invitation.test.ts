import { expect, it } from 'vitest';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { invitation } from '../../../src/session/serve.ts';
import { anyTarget } from '../../../src/session/start/plan.ts';
import type { Session } from '../../../src/session/start/session.ts';

it('says that the manager is paused only where one is', () => {
  const { manager, namespace } = anyTarget('shop');
  const invited = (pause: Session['plan']['pause']): string =>
    invitation({ target: { namespace, services: [] }, plan: { pause } } as unknown as Session);
  expect(invited([deploymentPause.pause(manager)])).toMatch(/manager is paused\.$/);
  expect(invited([])).toBe('Start your process now.');
});
