import { constants, existsSync } from 'node:fs';
import { access, appendFile, mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { CACHE, INSTALLED_PACKAGES } from './cache.ts';
import { lock } from './lock.ts';
import { run } from './run.ts';

export type Log = (line: string) => void;

/** The Debian package of each program, and the directory of the container runtime's network plugins. */
const packages: Record<string, string> = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  nft: 'nftables',
  ip: 'iproute2',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
};
/** The further programs that the tests of the SSH route need, with their packages. */
export const SSH_PACKAGES = { sshd: 'openssh-server', ssh: 'openssh-client' };
const pluginPackage = 'containernetworking-plugins';
const pluginDirs = ['/usr/lib/cni', '/opt/cni/bin'];
/** The services that Debian starts when it installs a package. The cluster and the tests start these programs on their own. */
const services: Record<string, string[]> = {
  containerd: ['containerd.service'],
  'openssh-server': ['ssh.service', 'ssh.socket'],
  'docker.io': ['docker.service', 'docker.socket'],
};
const SYSTEMD_RUNS = '/run/systemd/system';
const installMinutes = 10;

/**
 * Makes sure that this machine can run the cluster: installs what is missing, or says how to install it. `more` are programs that the
 * caller also needs, each with its Debian package.
 */
export async function ensurePrerequisites(
  log: Log,
  more: Record<string, string> = {},
): Promise<{ cniPlugins: string }> {
  const needed = { ...packages, ...more };
  if (process.platform !== 'linux')
    throw new Error('the test cluster needs Linux: run the e2e tests in a Linux machine');
  if (process.getuid?.() !== 0)
    throw new Error('the test cluster needs root for namespaces: sudo -E npm test');
  // Debian's own Go is too old to fetch a newer one.
  if (!(await firstWith(searchPath(), 'go'))) throw new Error('You need Go 1.26 or newer: https://go.dev/dl');
  if ((await missingPackages(needed)).length > 0) await install(log, needed);
  const cniPlugins = await firstWith(pluginDirs, 'bridge');
  return { cniPlugins: cniPlugins! };
}

async function install(log: Log, needed: Record<string, string>): Promise<void> {
  await using _ = await lock('prerequisites', installMinutes * 60_000);
  const missing = await missingPackages(needed);
  if (missing.length === 0) return;
  const command = ['install', '--yes', '--no-install-recommends', ...missing];
  log(`installing ${missing.join(' ')}`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await run('apt-get', ['update', '--quiet'], { env });
    await run('apt-get', ['--quiet', ...command], { env });
    await mkdir(CACHE, { recursive: true });
    await appendFile(INSTALLED_PACKAGES, `${missing.join('\n')}\n`);
    await stopServices(missing);
  } catch (cause) {
    throw new Error(`the test cluster needs more programs: apt-get update && apt-get ${command.join(' ')}`, {
      cause,
    });
  }
  const still = await missingPackages(needed);
  if (still.length > 0)
    throw new Error(`installed, but not found in PATH: the programs of ${still.join(' ')}`);
}

/** Nobody who runs the tests wants an SSH server on this machine from then on. */
async function stopServices(installed: string[]): Promise<void> {
  if (!existsSync(SYSTEMD_RUNS)) return;
  for (const unit of installed.flatMap((name) => services[name] ?? [])) {
    // ssh.socket exists on Ubuntu only.
    await run('systemctl', ['disable', '--now', unit]).catch(() => undefined);
  }
}

async function missingPackages(needed: Record<string, string>): Promise<string[]> {
  const path = searchPath();
  const missing = new Set<string>();
  for (const [program, name] of Object.entries(needed)) {
    if (!(await firstWith(path, program))) missing.add(name);
  }
  if (!(await firstWith(pluginDirs, 'bridge'))) missing.add(pluginPackage);
  return [...missing];
}

const searchPath = () => (process.env.PATH ?? '').split(delimiter);

async function firstWith(dirs: readonly string[], program: string): Promise<string | undefined> {
  for (const dir of dirs) {
    const found = await access(join(dir, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return dir;
  }
  return undefined;
}
