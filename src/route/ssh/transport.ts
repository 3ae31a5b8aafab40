import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Client } from 'ssh2';
import { DevloopError, messageOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { type HostSettings, nameOf } from './settings.ts';

/** A name's addresses are tried one after the other, each for this long. */
const PER_ADDRESS_MS = 1_000;

/** The bytes to and from an SSH host: over TCP, or over the ProxyCommand of its configuration. */
export async function openTransport(
  host: HostSettings,
  limitMs: number,
  signal: AbortSignal,
): Promise<Duplex> {
  return host.proxyCommand === undefined
    ? openTcp(host, limitMs, signal)
    : openCommand(host, host.proxyCommand);
}

async function openTcp(host: HostSettings, limitMs: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({
    host: host.host,
    port: host.port,
    noDelay: true,
    autoSelectFamilyAttemptTimeout: PER_ADDRESS_MS,
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const abort = (): void => void socket.destroy(new Error('aborted'));
  limit.addEventListener('abort', abort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.once('connect', resolve);
    });
    sendOncePerTurn(socket);
    return socket;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw unreachable(host, limit.aborted ? 'ETIMEDOUT' : codeOf(error), error, limitMs);
  } finally {
    limit.removeEventListener('abort', abort);
  }
}

/**
 * ssh2 writes each packet in three pieces. Nagle's algorithm, which can delay them by 40 ms, is off, so each piece would need a
 * system call and a TCP segment of its own. Instead, everything written in one turn of the event loop is sent together.
 */
function sendOncePerTurn(socket: Socket): void {
  const write = socket.write.bind(socket);
  socket.write = (bytes: Uint8Array | string): boolean => {
    if (socket.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    return write(bytes);
  };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

function unreachable(host: HostSettings, code: string, cause: unknown, limitMs: number): DevloopError {
  const [what, hint] = causeOf(host, code, limitMs) ?? [
    `could not be reached: ${(cause as Error).message || code}`,
    `Check with: ssh ${shellWord(host.alias)} true`,
  ];
  return new DevloopError('ssh.unreachable', `SSH host ${nameOf(host)} ${what}.`, { hint, cause });
}

function causeOf(
  { host, alias, port }: HostSettings,
  code: string,
  limitMs: number,
): [string, string] | undefined {
  switch (code) {
    case 'ENOTFOUND':
      return [
        `could not be reached: the name ${host} does not resolve`,
        `Check the name, the VPN and the Host entry in ssh_config: ssh -G ${shellWord(alias)}`,
      ];
    case 'EAI_AGAIN':
      return [
        `could not be reached: the name ${host} could not be looked up, because the name server did not respond`,
        'Check the network and the VPN.',
      ];
    case 'ECONNREFUSED':
      return [
        `refused the connection to port ${port}`,
        'Check the port, and that sshd is running on the host.',
      ];
    case 'ETIMEDOUT':
      return [`did not respond within ${limitMs / 1000} s`, 'Check the network, the VPN and the firewall.'];
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return ['could not be reached: this machine has no route to it', 'Check the network and the VPN.'];
    default:
      return undefined;
  }
}

const SAFE_IN_SHELL = /^[\w.@%+:[\]-]+$/;

/**
 * A ProxyCommand is a line for the shell, so the names in it must not contain characters that are special to a shell. On Ctrl-C, and when
 * it closes, a terminal sends a signal to all of its processes, but the tunnel is needed until everything is restored. So the shell ignores
 * SIGINT and SIGHUP before `exec`, and the command then ignores them, too.
 */
function openCommand(host: HostSettings, command: string): Duplex {
  for (const word of [host.host, host.alias, host.user]) {
    if (SAFE_IN_SHELL.test(word)) continue;
    throw new DevloopError('usage.invalid', `"${word}" has characters that are unsafe in a ProxyCommand.`, {
      hint: 'Name the host by an alias of letters and digits: a Host entry of ssh_config with HostName and User.',
    });
  }
  const child = spawn('/bin/sh', ['-c', `trap '' INT HUP; exec ${command}`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const stream = Duplex.from({ writable: child.stdin, readable: child.stdout });
  child.once('error', (error) => stream.destroy(error));
  child.once('exit', (code, signal) =>
    stream.destroy(new Error(`the command ended (${signal ?? `exit code ${code}`})`)),
  );
  stream.once('close', () => child.kill());
  return stream;
}

/**
 * The bytes to and from the next host, carried by the jump host before it. That jump host can take minutes to detect that the next host
 * does not respond, so `limitMs` limits the wait.
 */
export async function openThroughJumpHost(
  client: Client,
  [from, to]: [HostSettings, HostSettings],
  limitMs: number,
  signal: AbortSignal,
): Promise<Duplex> {
  signal.throwIfAborted();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  try {
    return await new Promise<Duplex>((resolve, reject) => {
      const late = (): void => reject(new Error(`no response within ${limitMs / 1000} s`));
      limit.addEventListener('abort', late, { once: true });
      client.forwardOut('127.0.0.1', 0, to.host, to.port, (error, channel) => {
        limit.removeEventListener('abort', late);
        if (error) return reject(error);
        // Otherwise, the channel would stay open in our direction after the far side has ended.
        channel.once('end', () => channel.destroy());
        resolve(channel);
      });
    });
  } catch (error) {
    signal.throwIfAborted();
    const why = messageOf(error).replace('(SSH) Channel open failure: ', '');
    throw new DevloopError(
      'ssh.unreachable',
      `Jump host ${nameOf(from)} could not connect to ${nameOf(to)}: ${why}.`,
      {
        hint: `Check with: ssh ${shellWord(to.alias)} true. The sshd_config of the jump host needs "AllowTcpForwarding yes".`,
        cause: error,
      },
    );
  }
}
