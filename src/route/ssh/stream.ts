import { spawn } from 'node:child_process';
import { Socket, type TcpSocketConnectOpts } from 'node:net';
import { Duplex } from 'node:stream';
import { DevloopError } from '../../errors.ts';
import { formatDestination } from './destination.ts';
import type { HostSettings } from './settings.ts';

/** Several addresses of one name are tried one after the other. */
const PER_ADDRESS_MS = 1_000;

/** The bytes to and from an SSH host: over TCP, or over the ProxyCommand of its configuration. */
export async function openStream(host: HostSettings, limitMs: number, signal: AbortSignal): Promise<Duplex> {
  return host.proxyCommand === undefined
    ? openTcp(host, limitMs, signal)
    : openCommand(host, host.proxyCommand);
}

/** Up to this size it is cheaper to copy the pieces together than to hand them over one by one. */
const COPIED_BYTES = 32 * 1024;

/**
 * What is written within one turn of the event loop leaves in one piece, and ssh2 writes each packet in three: with many
 * connections in one tunnel this is worth a fifth of the throughput and more, and it costs no waiting.
 */
class CoalescingSocket extends Socket {
  #pieces: Buffer[] = [];

  override write(piece: Buffer | string): boolean {
    if (this.#pieces.length === 0) setImmediate(() => this.#flush());
    this.#pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
    return !this.writableNeedDrain;
  }

  override end(...args: []): this {
    this.#flush();
    return super.end(...args);
  }

  #flush(): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    if (pieces.length === 0 || !this.writable) return;
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    if (size <= COPIED_BYTES) {
      super.write(Buffer.concat(pieces, size));
      return;
    }
    this.cork();
    for (const piece of pieces) super.write(piece);
    this.uncork();
  }
}

/** Every connection reads into the same memory: what one has read is copied before the next one reads. */
const READ = Buffer.allocUnsafe(64 * 1024);

/**
 * What has been read goes to those who listen without the socket's stream in between, which takes new memory and a turn of its
 * own for each reading. Always a copy: ssh2 keeps parts of it. Until somebody listens, it waits in the stream.
 */
function handOn(socket: Socket, bytes: Buffer): boolean {
  if (!socket.readableFlowing || socket.readableLength > 0) return socket.push(bytes);
  socket.emit('data', bytes);
  return true;
}

async function openTcp(host: HostSettings, limitMs: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket: Socket = new CoalescingSocket({
    onread: { buffer: READ, callback: (size) => handOn(socket, Buffer.from(READ.subarray(0, size))) },
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const abort = (): void => void socket.destroy(new Error('aborted'));
  limit.addEventListener('abort', abort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      // Node's types know this option only of net.connect().
      const options = { host: host.host, port: host.port, autoSelectFamilyAttemptTimeout: PER_ADDRESS_MS };
      socket.connect(options as TcpSocketConnectOpts, resolve);
    });
    // When it connects, Node lays its own write() over ours.
    Reflect.deleteProperty(socket, 'write');
    socket.setNoDelay(true);
    return socket;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw unreachable(host, limit.aborted ? 'ETIMEDOUT' : codeOf(error), error, limitMs);
  } finally {
    limit.removeEventListener('abort', abort);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

function unreachable(host: HostSettings, code: string, cause: unknown, limitMs: number): DevloopError {
  const name = formatDestination(host.user, host.host, host.port);
  const [what, hint] = causeOf(host, code, limitMs) ?? [
    `cannot be reached: ${(cause as Error).message || code}`,
    `Check with: ssh ${host.alias} true`,
  ];
  return new DevloopError('ssh.unreachable', `SSH host ${name} ${what}.`, { hint, cause });
}

function causeOf(
  { host, alias, port }: HostSettings,
  code: string,
  limitMs: number,
): [string, string] | undefined {
  switch (code) {
    case 'ENOTFOUND':
      return [
        `is unknown: there is no address for the name ${host}`,
        `Check the name, the VPN, or the Host entry in ssh_config: ssh -G ${alias}`,
      ];
    case 'EAI_AGAIN':
      return ['cannot be looked up: the name server does not answer', 'Check the network or the VPN.'];
    case 'ECONNREFUSED':
      return [
        'refuses the connection: nothing listens there',
        `Check the port (${port}), and that sshd runs on the host.`,
      ];
    case 'ETIMEDOUT':
      return [`does not answer within ${limitMs / 1000} s`, 'Check the network, the VPN and the firewall.'];
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return ['cannot be reached: there is no way to its network', 'Check the network or the VPN.'];
    default:
      return undefined;
  }
}

const HARMLESS = /^[\w.@%+:[\]-]+$/;

/**
 * ProxyCommand is a line for the shell by its definition, so what we put into it must mean nothing to a shell. A terminal sends
 * Ctrl-C to all its processes, and the way has to stand until everything is put back: what is ignored stays so over `exec`.
 */
function openCommand(host: HostSettings, command: string): Duplex {
  for (const word of [host.host, host.alias, host.user]) {
    if (HARMLESS.test(word)) continue;
    throw new DevloopError('usage.invalid', `"${word}" has characters that must not go into a ProxyCommand.`);
  }
  const child = spawn('/bin/sh', ['-c', `trap '' INT HUP; exec ${command}`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const stream = Duplex.from({ writable: child.stdin, readable: child.stdout });
  child.once('error', (error) => stream.destroy(error));
  child.once('exit', (code, signal) =>
    stream.destroy(new Error(`it ended (${signal ?? `exit code ${code}`})`)),
  );
  stream.once('close', () => child.kill());
  return stream;
}
