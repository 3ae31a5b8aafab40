import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { agreements, remember } from '../../../src/session/context/agreed.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { forgetContext } from '../../../src/session/forget-context.ts';
import { directoryWith } from '../controller/support/places.ts';

const KUBECONFIG = JSON.stringify({
  'current-context': 'prod',
  clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
  contexts: [{ name: 'prod', context: { cluster: 'a' } }],
});

test('forgets the current context or a named one, whose cluster may be gone, and names similar ones', async () => {
  const cwd = await directoryWith({ config: KUBECONFIG });
  const env = { XDG_STATE_HOME: cwd, KUBECONFIG: join(cwd, 'config') };
  const machine = await thisMachine(env);
  for (const context of ['prod', 'staging'])
    await remember(machine, {
      id: context,
      context,
      server: 'https://x',
      at: 'now',
      what: ['Service shop/hooks'],
    });
  const events: DevloopEvent[] = [];
  const io = {
    emit: (event: DevloopEvent) => void events.push(event),
    signal: AbortSignal.abort(),
    env,
    cwd,
  };
  await forgetContext({}, io);
  expect(events).toMatchObject([
    {
      code: 'context.forgotten',
      values: {
        context: 'prod',
        agreed: expect.arrayContaining([expect.stringContaining('Service shop/hooks')]),
      },
    },
  ]);
  expect(agreements(machine)).toMatchObject([{ context: 'staging' }]);
  await expect(forgetContext({ name: 'stagging' }, io)).rejects.toMatchObject({
    ...{ code: 'context.unknown', hint: 'devloop context forget --context staging' },
  });
  await forgetContext({ name: 'staging' }, io);
  expect(agreements(machine)).toEqual([]);
  await expect(forgetContext({ name: 'staging' }, io)).rejects.toMatchObject({ hint: undefined });
});
