import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { commandEnv } from '../../../../src/session/control/environment.ts';

const cluster = { name: 'dev', server: 'https://one:6443', caFile: '', caData: '', tlsServerName: '' };
const context = { name: 'dev', cluster: 'dev', user: 'me', namespace: '' };
const api = { pinned: { cluster: { ...cluster, skipTLSVerify: false }, context } };

async function envOf(kubeconfigFiles: string[], options: { embedded?: object } = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-command-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const assets = join(directory, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver']) await writeFile(join(assets, name), '', { mode: 0o755 });
  const opened = { api: { ...api, kubeconfigFiles }, root: directory };
  const session = { context: opened, files: { directory }, options, io: { env: { PATH: '/bin' } } };
  return { directory, assets, env: await commandEnv(session as never) };
}

test('a command stays in the session’s cluster, with the login of the user’s kubeconfig', async () => {
  const { directory, assets, env } = await envOf(['/home/me/config']);
  const pinned = join(directory, 'shell-kubeconfig');
  expect(env).toEqual({
    ...{ PATH: '/bin', KUBEBUILDER_ASSETS: assets },
    KUBECONFIG: `${pinned}:/home/me/config`,
  });
  expect(await readFile(pinned, 'utf8')).toContain('"current-context":"dev"');
});

test('in a Pod without a kubeconfig, none is set', async () => {
  const { env, assets } = await envOf([]);
  expect(env).toEqual({ PATH: '/bin', KUBEBUILDER_ASSETS: assets });
});

test('with an API server of the session’s own, a command gets its only kubeconfig', async () => {
  const { env } = await envOf(['/state/own.kubeconfig'], { embedded: {} });
  expect(env.KUBECONFIG).toBe('/state/own.kubeconfig');
});
