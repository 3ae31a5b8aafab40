import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Client, ClientChannel } from 'ssh2';
import { type Callers, forwardPorts, type Listen } from './forward.ts';
import { type HandshakeContext, handshake } from './handshake.ts';
import { type HostSettings, nameOf } from './settings.ts';
import { openThroughJumpHost, openTransport } from './transport.ts';

const DISCONNECT_MS = 500;

/** An open connection to the last of the hosts. It does not reconnect. */
export interface Link extends AsyncDisposable {
  /** The IP address that this machine connected to; undefined behind a jump host or a ProxyCommand. */
  readonly address: string | undefined;
  /** Resolves with the cause when the connection is gone, however it ended. */
  readonly lost: Promise<string>;
  readonly listen: Listen;
  /** Resolves with what a command prints on the host. Rejects if the host does not allow commands. */
  run(command: string): Promise<string>;
}

/** Connects to each host through the one before it. `connectMs` bounds each TCP connection. */
export async function openLink(
  hops: HostSettings[],
  connectMs: number,
  context: HandshakeContext,
  callers: Callers = {},
): Promise<Link> {
  await using opened = new AsyncDisposableStack();
  const lost = Promise.withResolvers<string>();
  let transport = await openTransport(hops[0]!, connectMs, context.signal);
  opened.defer(() => void transport.destroy());
  const { remoteAddress } = transport as Socket;
  const clients: Client[] = [];
  for (const [index, hop] of hops.entries()) {
    const before = clients.at(-1);
    if (before) {
      const pair: [HostSettings, HostSettings] = [hops[index - 1]!, hop];
      transport = await openThroughJumpHost(before, pair, connectMs, context.signal);
    }
    const client = await handshake(transport, hop, context);
    const gone = whenGone(client, hop, lost.resolve);
    opened.defer(() => disconnect(client, gone));
    clients.push(client);
    endNagleDelays(client);
  }
  const host = hops.at(-1)!;
  const client = clients.at(-1)!;
  const listen = forwardPorts(client, host, callers);
  watchAlive(transport, host, () => {
    lost.resolve(`${nameOf(host)} stopped responding`);
    for (const one of clients) one.destroy();
    // Otherwise, a dead jump host would keep the connection inside it open.
    transport.destroy();
  });
  const resources = opened.move();
  return {
    address: hops.length === 1 ? remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '') : undefined,
    lost: lost.promise,
    listen,
    run: (command) => run(client, command),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/**
 * Calls `dead` after `aliveCount` + 1 rounds of `aliveSeconds` in which nothing arrived, although ssh2 sends a keepalive in each. Any data
 * counts, because behind a full send buffer an answer can take a long time. Rounds are counted instead of time, because a process that was
 * stopped for a while has received nothing in that time.
 */
function watchAlive(transport: Duplex, { aliveSeconds, aliveCount }: HostSettings, dead: () => void): void {
  let heard = false;
  let silentRounds = 0;
  transport.on('data', () => {
    heard = true;
  });
  const timer = setInterval(() => {
    silentRounds = heard ? 0 : silentRounds + 1;
    heard = false;
    if (silentRounds <= aliveCount) return;
    clearInterval(timer);
    dead();
  }, aliveSeconds * 1000);
  transport.once('close', () => clearInterval(timer));
}

/**
 * Before version 10.1, sshd leaves Nagle's algorithm on until a session runs a command, and the algorithm delays the answer on each new
 * connection by 40 ms. So this runs `true`. If the host does not allow sessions, the tunnel works, but slower.
 */
function endNagleDelays(client: Client): void {
  try {
    client.exec('true', (_error, channel?: ClientChannel) => channel?.resume().close());
  } catch {
    // The connection is already gone, which `lost` reports.
  }
}

/** Resolves when the connection is gone. */
function whenGone(client: Client, host: HostSettings, lost: (cause: string) => void): Promise<void> {
  let cause: string | undefined;
  client.on('error', (error) => {
    cause ??= error.message;
  });
  return new Promise((resolve) => {
    client.once('close', () => {
      lost(`the connection to ${nameOf(host)} was closed${cause ? ` (${cause})` : ''}`);
      resolve();
    });
  });
}

/** Ends the connection properly, so that the host frees its ports at once, but does not wait long for a host that is gone. */
async function disconnect(client: Client, gone: Promise<void>): Promise<void> {
  client.end();
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, DISCONNECT_MS);
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
