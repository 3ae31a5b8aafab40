import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestCluster } from '../../cluster/cluster.ts';
import { credential, V1 } from './situation.ts';

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';

/** Kubeconfigs of one real cluster, each of which logs in in another way. Returns their paths. `proxy`: the port of a CONNECT proxy. */
export async function realLogins(
  cluster: TestCluster,
  directory: string,
  proxy: number,
): Promise<Record<string, string>> {
  const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
  const [{ cluster: entry }] = config.clusters;
  const [{ user: admin }] = config.users;
  const { status } = (await cluster.call('POST', `${ACCOUNTS}/default/token`, { spec: {} })) as {
    status: { token: string };
  };
  await mkdir(join(directory, 'plugins'));
  const plugin = join(directory, 'plugins/login');
  await writeFile(plugin, `#!/bin/sh\necho '${JSON.stringify(credential({ token: status.token }))}'\n`);
  await chmod(plugin, 0o755);
  await writeFile(join(directory, 'token'), `${status.token}\n`);
  const exec = {
    apiVersion: V1,
    command: './plugins/login',
    interactiveMode: 'Never',
    provideClusterInfo: true,
  };
  const logins: Record<string, { user: object; cluster?: object }> = {
    'client certificate': { user: admin },
    token: { user: { token: status.token } },
    tokenFile: { user: { tokenFile: 'token' } },
    'credential plugin': { user: { exec } },
    'impersonated groups': {
      user: {
        ...{ ...admin, as: 'jane', 'as-uid': '7', 'as-groups': ['devs', 'system:authenticated'] },
        'as-user-extra': { 'example.com/reason': ['a b', 'é'] },
      },
    },
    'token in vain': { user: { token: 'nobody' } },
    'no CA': { user: admin, cluster: { server: entry.server } },
    'no verification': { user: admin, cluster: { server: entry.server, 'insecure-skip-tls-verify': true } },
    'another name': { user: admin, cluster: { ...entry, 'tls-server-name': 'kubernetes.default.svc' } },
    'a wrong name': { user: admin, cluster: { ...entry, 'tls-server-name': 'other.invalid' } },
    proxy: { user: admin, cluster: { ...entry, 'proxy-url': `http://127.0.0.1:${proxy}` } },
  };
  const paths: Record<string, string> = {};
  for (const [name, login] of Object.entries(logins)) {
    const path = join(directory, `${name.replaceAll(' ', '-')}.json`);
    const clusters = [{ ...config.clusters[0], cluster: login.cluster ?? entry }];
    const users = [{ ...config.users[0], user: login.user }];
    await writeFile(path, JSON.stringify({ ...config, clusters, users }));
    paths[name] = path;
  }
  return paths;
}
