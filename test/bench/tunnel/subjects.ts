import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { end } from '../../support/sshd/network.ts';
import type { TestSshd } from '../../support/sshd/sshd.ts';
import { answers } from './load.ts';

/** A tunnel from two ports of the SSH host to two ports here (TLS, bulk). */
export interface Subject extends AsyncDisposable {
  name: string;
  /** Ports of the host; ours change after a drop. */
  ports(): readonly [number, number];
}

export const OURS = 'devloop';
export const PLAIN = 'ssh -N -R';
export const SESSION = 'ssh -R + session';
export const SESSION_AGAIN = 'ssh -R + session, again';
export const AUTOSSH = 'autossh';
export const LOOP = 'ssh + ServerAlive in a loop';

let nextPort = 20_000;
const alive = [
  '-o',
  'ServerAliveInterval=2',
  '-o',
  'ServerAliveCountMax=2',
  '-o',
  'ExitOnForwardFailure=yes',
];

/** The address of sshd, and the user that it accepts. */
export type SshHost = Pick<TestSshd, 'address' | 'env' | 'to'>;

export async function startSubject(name: string, sshd: SshHost, here: [number, number]): Promise<Subject> {
  const subject = name === OURS ? await startOurs(sshd, here) : startOpenSsh(name, sshd, here);
  const deadline = Date.now() + 10_000;
  while (!(await answers(sshd.address, subject.ports()[1]))) {
    if (Date.now() > deadline) throw new Error(`${name} does not carry`);
    await sleep(20);
  }
  return subject;
}

async function startOurs(sshd: SshHost, here: [number, number]): Promise<Subject> {
  const { NODE_EXTRA_CA_CERTS: _, ...env } = { ...process.env, ...sshd.env };
  // The published program is bundled without the native part of ssh2, so that part is disabled here, too.
  const args = ['--no-addons', join(import.meta.dirname, 'ours.ts'), sshd.to, ...here.map(String)];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let ports: [number, number] | undefined;
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    const [, first, second] = line.split(' ').map(Number);
    ports = [first!, second!];
  });
  await once(lines, 'line');
  return { name: OURS, ports: () => ports!, [Symbol.asyncDispose]: () => end(child) };
}

function startOpenSsh(name: string, sshd: SshHost, here: [number, number]): Subject {
  const ports = [nextPort++, nextPort++] as const;
  const [program, ...args] = commandOf(name, [
    ...['-F', 'none', '-i', join(sshd.env.HOME!, '.ssh/id_ed25519')],
    ...['-o', `UserKnownHostsFile=${sshd.env.HOME}/.ssh/known_hosts`, '-o', 'BatchMode=yes'],
    ...ports.flatMap((port, index) => ['-R', `*:${port}:127.0.0.1:${here[index]}`]),
    sshd.to,
  ]);
  // A process group of its own: both the loop and autossh start ssh as a child.
  const child = spawn(program!, args, {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, AUTOSSH_GATETIME: '0' },
  });
  return { name, ports: () => ports, [Symbol.asyncDispose]: () => endGroup(child) };
}

function commandOf(name: string, args: string[]): string[] {
  switch (name) {
    case PLAIN:
      return ['ssh', '-N', ...args];
    case AUTOSSH:
      return ['autossh', '-M', '0', '-N', ...alive, ...args];
    case LOOP:
      return ['sh', '-c', 'while :; do ssh "$@"; sleep 1; done', 'loop', '-N', ...alive, ...args];
    default:
      return ['ssh', ...args, 'exec sleep infinity'];
  }
}

async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid!, 'SIGKILL');
  await ended;
}
