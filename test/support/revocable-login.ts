import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { TestCluster } from '../cluster/cluster.ts';
import { eventually } from './eventually.ts';

/** An administrator who logs in with a credential plugin, and whose token the API server can stop accepting. */
export interface RevocableLogin extends AsyncDisposable {
  kubeconfig: string;
  /** Resolves when the API server rejects the token: it remembers for some seconds that it was good. */
  revoke(): Promise<void>;
  /** From now on, the plugin prints a token that works. */
  renew(): Promise<void>;
  /** How often the plugin was run. */
  runs(): Promise<number>;
}

const NAME = 'revocable';
const ACCOUNT = ['-n', 'default', 'serviceaccount', NAME];

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
  let withToken = '';
  const renew = async (): Promise<void> => {
    await cluster.kubectl(['create', ...ACCOUNT]);
    const token = (await cluster.kubectl(['-n', 'default', 'create', 'token', NAME])).trim();
    withToken = await kubeconfigWith('config-with-token', { token });
    await write('credential', JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token } }));
  };
  await cluster.kubectl([
    ...['create', 'clusterrolebinding', NAME, '--clusterrole=cluster-admin'],
    `--serviceaccount=default:${NAME}`,
  ]);
  stack.defer(async () => void (await cluster.kubectl(['delete', 'clusterrolebinding', NAME])));
  await renew();
  stack.defer(async () => void (await cluster.kubectl(['delete', ...ACCOUNT, '--ignore-not-found'])));
  const resources = stack.move();
  return {
    kubeconfig,
    renew,
    async revoke() {
      await cluster.kubectl(['delete', ...ACCOUNT]);
      const whoami = () => cluster.kubectl(['auth', 'whoami'], { kubeconfig: withToken });
      await eventually(() => expect(whoami()).rejects.toThrow());
    },
    runs: async () => (await readFile(join(directory, 'runs'), 'utf8')).trim().split('\n').length,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
