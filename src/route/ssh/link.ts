import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Client, ClientChannel } from 'ssh2';
import { DevloopError, messageOf } from '../../errors.ts';
import { watchAlive } from './alive.ts';
import { carry } from './carry.ts';
import { formatDestination } from './destination.ts';
import { type Signing, shakeHands } from './handshake.ts';
import type { HostSettings } from './settings.ts';
import { openStream } from './stream.ts';

const GOODBYE_MS = 500;
/** Both families, where the host lets us choose. */
const EVERYWHERE = '';

/** A standing connection to the last of the hosts. It does not mend itself. */
export interface Link extends AsyncDisposable {
  /** Address that this machine has called; undefined behind a jump host or a ProxyCommand. */
  readonly address: string | undefined;
  /** Settles with the cause when the connection is gone, however it ended. */
  readonly lost: Promise<string>;
  /** Has the host listen on a port (0: any), and carries what arrives there to a port of this machine. */
  listen(port: number, gatewayPort: number): Promise<number>;
  /** What a command prints on the host. Rejects where commands are not allowed. */
  run(command: string): Promise<string>;
}

export async function openLink(hops: HostSettings[], connectMs: number, signing: Signing): Promise<Link> {
  await using opened = new AsyncDisposableStack();
  const lost = Promise.withResolvers<string>();
  let stream = await openStream(hops[0]!, connectMs, signing.signal);
  opened.defer(() => void stream.destroy());
  const address = (stream as Socket).remoteAddress;
  const clients: Client[] = [];
  for (const [index, hop] of hops.entries()) {
    if (index > 0) stream = await jump(clients.at(-1)!, [hops[index - 1]!, hop], connectMs, signing.signal);
    const client = await shakeHands(stream, hop, signing);
    endWhole(stream);
    const gone = tellLoss(client, hop, lost.resolve);
    opened.defer(() => leave(client, gone));
    clients.push(client);
    hurry(client);
  }
  const host = hops.at(-1)!;
  const client = clients.at(-1)!;
  const carried = carrying(client);
  watchAlive(stream, { seconds: host.aliveSeconds, count: host.aliveCount }, () => {
    lost.resolve(`${nameOf(host)} does not answer any more`);
    for (const one of clients) one.destroy();
    // Without its own connection gone, a dead jump host would hold what runs inside it.
    stream.destroy();
  });
  const resources = opened.move();
  return {
    address: hops.length === 1 ? plain(address) : undefined,
    lost: lost.promise,
    listen: (port, gatewayPort) => listen({ client, host, carried }, port, gatewayPort),
    run: (command) => run(client, command),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

interface Carried {
  targets: Map<number, number>;
  open: Set<Socket>;
}

/** Gives each connection that arrives on the host to its gateway port. All end with the link: none may hang. */
function carrying(client: Client): Carried {
  const carried: Carried = { targets: new Map(), open: new Set() };
  client.on('tcp connection', ({ destPort }, accept, reject) => {
    const target = carried.targets.get(destPort);
    if (target === undefined) reject();
    else carry(accept(), target, carried.open);
  });
  // At once: a moment later ssh2 ends all channels, and what was cut off would look complete.
  client.once('close', () => {
    for (const socket of carried.open) socket.resetAndDestroy();
  });
  return carried;
}

async function listen(
  { client, host, carried }: { client: Client; host: HostSettings; carried: Carried },
  port: number,
  gatewayPort: number,
): Promise<number> {
  // A fixed port may be called before its answer has arrived here.
  if (port !== 0) carried.targets.set(port, gatewayPort);
  const bound = await new Promise<number>((resolve, reject) => {
    client.forwardIn(EVERYWHERE, port, (error, real) => (error ? reject(error) : resolve(real)));
  }).catch((error: Error) => {
    throw refused(host, port, error);
  });
  carried.targets.set(bound, gatewayPort);
  return bound;
}

/** sshd gives the same answer to a port that is taken and to one that is forbidden. */
function refused(host: HostSettings, port: number, error: Error): DevloopError {
  if (!/unable to bind/i.test(error.message)) {
    return new DevloopError(
      'ssh.unreachable',
      `The connection to SSH host ${nameOf(host)} ended: ${error.message}.`,
    );
  }
  const what = port === 0 ? 'any port' : `port ${port}`;
  const permit =
    port === 0 ? '"PermitListen any" (or ask for a port that it names)' : `"PermitListen ${port}"`;
  const taken =
    port === 0
      ? ''
      : `Either the port is taken (see there: ss -ltnp 'sport = ${port}'), or sshd forbids it: `;
  const root = port > 0 && port < 1024 ? ' Ports below 1024 are for root.' : '';
  return new DevloopError('ssh.forwarding', `SSH host ${nameOf(host)} does not listen on ${what} for us.`, {
    hint: `${taken}${taken ? 'its' : "The host's"} sshd_config needs "AllowTcpForwarding yes" and ${permit}.${root}`,
  });
}

/** The connection to the next host, carried by the one before it, which may take minutes to find that nobody answers. */
async function jump(
  client: Client,
  [from, to]: [HostSettings, HostSettings],
  limitMs: number,
  signal: AbortSignal,
): Promise<Duplex> {
  signal.throwIfAborted();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  try {
    return await new Promise<Duplex>((resolve, reject) => {
      const late = (): void => reject(new Error(`no answer within ${limitMs / 1000} s`));
      limit.addEventListener('abort', late, { once: true });
      client.forwardOut('127.0.0.1', 0, to.host, to.port, (error, channel) => {
        limit.removeEventListener('abort', late);
        if (error) reject(error);
        else resolve(channel);
      });
    });
  } catch (error) {
    signal.throwIfAborted();
    const why = messageOf(error).replace('(SSH) Channel open failure: ', '');
    throw new DevloopError(
      'ssh.unreachable',
      `Jump host ${nameOf(from)} does not get through to ${nameOf(to)}: ${why}.`,
      {
        hint: `Check with: ssh ${to.alias} true. The sshd_config of the jump host needs "AllowTcpForwarding yes".`,
        cause: error,
      },
    );
  }
}

/**
 * sshd before 10.1 lets its side of the connection wait for acknowledgements (Nagle), 40 ms on every new connection, until a
 * session runs a command. So one does. Where sessions are not allowed, it works all the same, if slower.
 */
function hurry(client: Client): void {
  try {
    client.exec('true', (_error, channel?: ClientChannel) => channel?.resume().close());
  } catch {
    // The connection is gone already, which others are told.
  }
}

/** A channel of a jump host would stay open for us to speak on after the far side has ended. */
function endWhole(stream: Duplex): void {
  stream.once('end', () => stream.destroy());
}

/** Settles when the connection is gone. */
function tellLoss(client: Client, host: HostSettings, lost: (cause: string) => void): Promise<void> {
  let cause: string | undefined;
  client.on('error', (error) => {
    cause ??= error.message;
  });
  return new Promise((resolve) => {
    client.once('close', () => {
      lost(`the connection to ${nameOf(host)} broke off${cause ? ` (${cause})` : ''}`);
      resolve();
    });
  });
}

/** Says goodbye, so that the host frees the ports at once, but does not wait for a host that is gone. */
async function leave(client: Client, gone: Promise<void>): Promise<void> {
  client.end();
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, GOODBYE_MS);
  await Promise.race([gone, late.promise]);
  clearTimeout(timer);
  client.destroy();
}

function run(client: Client, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, channel) => {
      if (error) return reject(error);
      let output = '';
      channel.on('data', (chunk: Buffer) => {
        output += chunk;
      });
      channel.stderr.resume();
      channel.once('close', () => resolve(output));
    });
  });
}

function nameOf({ user, host, port }: HostSettings): string {
  return formatDestination(user, host, port);
}

function plain(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:(?=\d+\.)/, '');
}
