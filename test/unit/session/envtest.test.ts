import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startEnvtest } from '../../../src/session/verify/envtest.ts';

it('an API server of envtest that ends at once is not waited for, and its last lines are shown', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-envtest-'));
  const program = (name: string, script: string) =>
    writeFile(join(directory, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await program('etcd', 'exec sleep 60');
  await program('kube-apiserver', 'echo "Error: unknown flag: --x" >&2\nexit 1');
  const env = { ...process.env, XDG_STATE_HOME: directory };
  const io = { emit: () => {}, signal: new AbortController().signal, env, cwd: directory };
  try {
    await expect(startEnvtest(directory, directory, io)).rejects.toMatchObject({
      code: 'cluster.unreachable',
      message: expect.stringMatching(new RegExp(`API server in ${directory} .*:\nError: unknown flag: --x$`)),
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});
