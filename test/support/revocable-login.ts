import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { connect } from '../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { eventually } from './eventually.ts';

/** An administrator who logs in with a credential plugin. The API server can stop accepting the plugin's token. */
export interface RevocableLogin extends AsyncDisposable {
  kubeconfig: string;
  /** Resolves when the API server rejects the token; for some seconds, it remembers that the token was good. */
  revoke(): Promise<void>;
  /** From now on, the plugin prints a token that works. */
  renew(): Promise<void>;
  /** How often the plugin has run. */
  runs(): Promise<number>;
}

const NAME = 'revocable';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

export async function revocableLogin(cluster: TestCluster): Promise<RevocableLogin> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'devloop-login-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
  const write = async (name: string, content: string): Promise<string> => {
    await writeFile(join(directory, name), content);
    return join(directory, name);
  };
  const kubeconfigWith = (name: string, user: object): Promise<string> =>
    write(name, JSON.stringify({ ...config, users: [{ ...config.users[0], user }] }));
  const command = await write('plugin', `#!/bin/sh\ncd ${directory}\necho run >> runs\ncat credential\n`);
  await chmod(command, 0o755);
  const apiVersion = 'client.authentication.k8s.io/v1';
  const kubeconfig = await kubeconfigWith('config', {
    exec: { apiVersion, command, interactiveMode: 'Never' },
  });
  let token = '';
  const renew = async (): Promise<void> => {
    await cluster.call('POST', ACCOUNTS, { metadata: { name: NAME } });
    const made = await cluster.call('POST', `${ACCOUNTS}/${NAME}/token`, { spec: {} });
    token = (made as { status: { token: string } }).status.token;
    await write('credential', JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token } }));
  };
  await cluster.call('POST', BINDINGS, {
    metadata: { name: NAME },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: NAME }],
  });
  stack.defer(async () => void (await cluster.call('DELETE', `${BINDINGS}/${NAME}`)));
  await renew();
  const remove = (): Promise<unknown> => cluster.call('DELETE', `${ACCOUNTS}/${NAME}`);
  stack.defer(async () => void (await remove().catch(() => undefined)));
  const resources = stack.move();
  return {
    kubeconfig,
    renew,
    async revoke() {
      await remove();
      const kubeconfig = await kubeconfigWith('config-with-token', { token });
      await using api = await connect(await loadKubeconfig({ kubeconfig }, {}, '/'));
      await eventually(() => expect(api.list('Service', 'default')).rejects.toThrow(/401|credentials/));
    },
    runs: async () => (await readFile(join(directory, 'runs'), 'utf8')).trim().split('\n').length,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
