import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ACCOUNT = '/run/secrets/kubernetes.io/serviceaccount';

/**
 * Gives this machine, which must be one of its own, an address that is not loopback, a name for it, and the files that a Pod gets for its
 * ServiceAccount. Call the result to remove those files.
 */
export async function hostForLogins(ca: string): Promise<() => Promise<void>> {
  await run('ip', ['address', 'add', '10.77.0.1/32', 'dev', 'lo']);
  const hosts = join(await mkdtemp(join(tmpdir(), 'hosts-')), 'hosts');
  const names = ['api.devloop.test', 'xn--bcher-kva.devloop.test'];
  await writeFile(hosts, `${await readFile('/etc/hosts', 'utf8')}\n10.77.0.1 ${names.join(' ')}\n`);
  await run('mount', ['--bind', hosts, '/etc/hosts']);
  await run('mount', ['-t', 'tmpfs', 'login', '/run']);
  // Without HOME, devloop looks for a kubeconfig of the account.
  const kube = join(userInfo().homedir, '.kube');
  if (existsSync(kube)) await run('mount', ['-t', 'tmpfs', 'login', kube]);
  await mkdir(ACCOUNT, { recursive: true });
  const files = { token: 'of-pod\n', 'ca.crt': ca, namespace: 'shop\n' };
  for (const [name, text] of Object.entries(files)) await writeFile(join(ACCOUNT, name), text);
  return async () => void (await run('umount', ['/run']));
}
