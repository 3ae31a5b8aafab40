import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onlyChild } from '../../cluster/identity.ts';
import { ensurePrerequisites, SSH_PACKAGES } from '../../cluster/prerequisites.ts';
import { run } from '../../cluster/run.ts';
import { createNetwork, end, type Network } from './network.ts';

/** A real sshd in a network of its own, and a home directory with a key that it accepts and a known_hosts file that contains its host key. */
export interface TestSshd extends AsyncDisposable {
  address: string;
  network: Network;
  dir: string;
  /** HOME and PATH for the client. */
  env: Record<string, string>;
  /** `root@address` */
  to: string;
  /** Kills every process that serves a connection, and nothing else. Returns how many there were. */
  killSessions(): Promise<number>;
  stop(): Promise<void>;
  /** Stops sshd, and starts it again with these lines in sshd_config. */
  restart(config?: string[]): Promise<void>;
  /** What sshd has logged so far. */
  log(): Promise<string>;
}

const startTimeoutMs = 10_000;

export async function startSshd(config: string[] = ['GatewayPorts yes']): Promise<TestSshd> {
  await ensurePrerequisites((line) => console.error(line), SSH_PACKAGES);
  await using made = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'devloop-sshd-'));
  made.defer(() => rm(dir, { recursive: true, force: true }));
  const network = made.use(await createNetwork());
  await makeKeys(dir, network.address);
  // Debian creates it when the service starts, which may never have happened here.
  await mkdir('/run/sshd', { recursive: true });
  let current: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (current) await endTree(current);
    current = undefined;
  };
  made.defer(stop);
  const restart = async (lines: string[]): Promise<void> => {
    await stop();
    await writeConfig(dir, lines);
    current = await start(dir, network);
  };
  await restart(config);
  const resources = made.move();
  return {
    address: network.address,
    network,
    dir,
    env: { HOME: join(dir, 'home'), PATH: process.env.PATH ?? '' },
    to: `root@${network.address}`,
    killSessions: () => killSessions(current!),
    stop,
    restart: (lines = config) => restart(lines),
    log: () => readFile(join(dir, 'sshd.log'), 'utf8'),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

export async function makeKey(path: string, options: string[] = ['-t', 'ed25519', '-N', '']): Promise<void> {
  await run('ssh-keygen', ['-q', '-C', 'test', ...options, '-f', path]);
}

async function makeKeys(dir: string, address: string): Promise<void> {
  const ssh = join(dir, 'home/.ssh');
  await mkdir(ssh, { recursive: true, mode: 0o700 });
  await makeKey(join(dir, 'host_ed25519'));
  await makeKey(join(ssh, 'id_ed25519'));
  await copyFile(join(ssh, 'id_ed25519.pub'), join(dir, 'authorized_keys'));
  const [type, key] = (await readFile(join(dir, 'host_ed25519.pub'), 'utf8')).split(' ');
  await writeFile(join(ssh, 'known_hosts'), `${address} ${type} ${key}\n`);
}

async function writeConfig(dir: string, lines: string[]): Promise<void> {
  const always = [
    'Port 22',
    `HostKey ${dir}/host_ed25519`,
    `AuthorizedKeysFile ${dir}/authorized_keys`,
    'PermitRootLogin prohibit-password',
    'StrictModes no',
    'UsePAM no',
    'UseDNS no',
    'PidFile none',
    'LogLevel VERBOSE',
    'MaxStartups 1000',
  ];
  // If several lines have the same keyword, sshd uses the first.
  await writeFile(join(dir, 'sshd_config'), `${[...lines, ...always].join('\n')}\n`);
}

/** Process 1 of its process namespace: if it is killed, every session is killed. */
async function start(dir: string, network: Network): Promise<ChildProcess> {
  await using log = await open(join(dir, 'sshd.log'), 'a');
  const [program, ...args] = [
    ...network.enter,
    ...['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'],
    ...['/usr/sbin/sshd', '-D', '-e', '-f', join(dir, 'sshd_config')],
  ];
  const child = spawn(program!, args, { detached: true, stdio: ['ignore', log.fd, log.fd] });
  const deadline = Date.now() + startTimeoutMs;
  while (!(await answers(network.address))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`sshd did not start: ${await readFile(join(dir, 'sshd.log'), 'utf8')}`);
    }
    await sleep(5);
  }
  return child;
}

/** unshare returns when process 1, and with it all its other processes, have ended. Killing unshare would not wait for them. */
async function endTree(unshare: ChildProcess): Promise<void> {
  const init = await onlyChild(unshare.pid!);
  if (!init) return end(unshare);
  const ended = once(unshare, 'exit');
  process.kill(init.pid, 'SIGKILL');
  await ended;
}

async function killSessions(unshare: ChildProcess): Promise<number> {
  const init = await onlyChild(unshare.pid!);
  const sessions = init ? await descendants(init.pid) : [];
  for (const pid of sessions) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended together with its parent.
    }
  }
  return sessions.length;
}

async function descendants(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = text.trim().split(' ').filter(Boolean).map(Number);
  return [...children, ...(await Promise.all(children.map(descendants))).flat()];
}

function answers(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 22 });
    const done = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('data', () => done(true));
    socket.once('error', () => done(false));
  });
}
