import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startControlPlane } from '../../../../src/session/embedded/control-plane.ts';
import { directoryWith } from '../../controller/support/places.ts';

/** With programs that do this. */
async function started(etcd: string, apiServer: string, isOld: boolean) {
  const assets = await directoryWith();
  const program = (name: string, script: string) =>
    writeFile(join(assets, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await program('etcd', etcd);
  await program('kube-apiserver', apiServer);
  const directory = join(assets, 'running');
  await mkdir(directory);
  const io = { emit: () => {}, signal: new AbortController().signal, env: process.env, cwd: assets };
  const kept = { directory: assets, data: join(assets, 'etcd-data'), isOld };
  return await startControlPlane({ assets, directory, name: 'test', kept }, io);
}

const WAIT = 'exec sleep 60';
const FAIL = 'echo "no such bucket" >&2; exit 1';

test('only if etcd itself gives up on kept data, the error advises to remove that', async () => {
  const hint = 'Remove it: devloop down --embedded';
  const message = expect.stringContaining('no such bucket');
  await expect(started(FAIL, WAIT, true)).rejects.toMatchObject({ code: 'embedded.data', hint, message });
  const code = 'cluster.unreachable';
  await expect(started(FAIL, WAIT, false)).rejects.toMatchObject({ code });
  await expect(started(WAIT, FAIL, true)).rejects.toMatchObject({ code });
  await expect(started('kill -KILL $$', WAIT, true)).rejects.toMatchObject({ code });
});
