import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SESSION_LABEL } from '../../../src/cluster/names.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { down } from '../../../src/session/down.ts';
import { fakeApiServer } from '../../support/fake-api-server.ts';
import { directoryWith } from '../controller/support/places.ts';

it('of several sessions that cannot be restored, each is named', async () => {
  await using server = await fakeApiServer();
  for (const session of ['s1', 's2', 's3']) {
    const metadata = { name: `hook-${session}`, namespace: 'shop', labels: { [SESSION_LABEL]: session } };
    server.cluster.put('Service', { metadata });
  }
  const directory = await directoryWith();
  const kubeconfig = join(directory, 'config');
  await writeFile(kubeconfig, JSON.stringify(server.kubeconfig));
  const events: DevloopEvent[] = [];
  const io = {
    emit: (event: DevloopEvent) => void events.push(event),
    signal: new AbortController().signal,
    env: { KUBECONFIG: kubeconfig, XDG_STATE_HOME: directory, HOME: directory },
    cwd: directory,
  };
  // Without a Lease, nothing shows whether a session is alive.
  await expect(down({ services: [], takeOver: false, dryRun: false }, io)).rejects.toMatchObject({
    ...{ code: 'session.held', message: expect.stringContaining('Service shop/hook-s1') },
  });
  const named = (name: string) =>
    expect.objectContaining({ type: 'warning', message: expect.stringContaining(name) });
  expect(events).toEqual(
    expect.arrayContaining([named('Service shop/hook-s2'), named('Service shop/hook-s3')]),
  );
});
