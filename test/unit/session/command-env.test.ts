import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { commandEnv } from '../../../src/session/command-env.ts';

const cluster = { name: 'dev', server: 'https://one:6443', caFile: '', caData: '', tlsServerName: '' };
const context = { name: 'dev', cluster: 'dev', user: 'me', namespace: '' };
const api = { pinned: { cluster: { ...cluster, skipTLSVerify: false }, context } };

async function envOf(kubeconfigFiles: string[], options: { embedded?: { assets: string } } = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-command-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const opened = { api: { ...api, kubeconfigFiles } };
  const session = { context: opened, files: { directory }, options, io: { env: { PATH: '/bin' } } };
  return { directory, env: await commandEnv(session as never) };
}

test('a command stays in the session’s cluster, with the login of the user’s kubeconfig', async () => {
  const { directory, env } = await envOf(['/home/me/config']);
  const pinned = join(directory, 'kubeconfig');
  expect(env).toEqual({ PATH: '/bin', KUBECONFIG: `${pinned}:/home/me/config` });
  expect(await readFile(pinned, 'utf8')).toContain('"current-context":"dev"');
});

test('in a Pod without a kubeconfig, nothing is set', async () => {
  expect((await envOf([])).env).toEqual({ PATH: '/bin' });
});

test('with an API server of the session’s own, a command gets its only kubeconfig, and the programs of envtest', async () => {
  const { env } = await envOf(['/state/own.kubeconfig'], { embedded: { assets: '/k8s' } });
  expect(env).toEqual({
    PATH: '/bin',
    KUBECONFIG: '/state/own.kubeconfig',
    KUBEBUILDER_ASSETS: '/k8s',
  });
});
