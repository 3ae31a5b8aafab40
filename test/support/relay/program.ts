import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { relayConfig } from '../../../src/route/relay/wire/config.ts';
import {
  type Identity,
  identity,
  makeRelayKeys,
  type RelayKeys,
} from '../../../src/route/relay/wire/keys.ts';

export const RELAY_SOURCE = join(import.meta.dirname, '../../../src/route/relay/pod/program.ts');

export interface RelayProgram extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly keys: RelayKeys;
  readonly controlPort: number;
  /** The port to which the API server's proxy would connect. */
  readonly proxyPort: number;
  /** The port that stands for the webhook Service's target port. */
  readonly port: number;
  /** Everything that it has printed. */
  output(): string;
  /** Resolves with its exit code. */
  readonly ended: Promise<number | null>;
  /** A connection to the control port, like that of a port-forward. */
  dial(): Promise<Duplex>;
}

export interface RelayProgramOptions {
  keys?: RelayKeys;
  controlPort?: number;
  port?: number;
  heartbeatSeconds?: number;
  /** The command that runs it; by default, it runs from its sources. */
  command?: string[];
}

/** Runs the real relay program, and waits until it listens for its client. Another test may take a free port first. */
export async function startRelayProgram(options: RelayProgramOptions = {}): Promise<RelayProgram> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOnce(options);
    } catch (error) {
      if (tries === 3 || !String(error).includes('EADDRINUSE')) throw error;
    }
  }
}

async function startOnce(options: RelayProgramOptions): Promise<RelayProgram> {
  const keys = options.keys ?? makeRelayKeys();
  const controlPort = options.controlPort ?? (await freePort());
  const port = options.port ?? (await freePort());
  const proxyPort = await freePort();
  const directory = await mkdtemp(join(tmpdir(), 'relay-'));
  const file = join(directory, 'relay.json');
  const { heartbeatSeconds = 60 } = options;
  await writeFile(
    file,
    JSON.stringify(relayConfig({ controlPort, proxyPort, ports: [port], keys, heartbeatSeconds })),
  );
  const [program, ...args] = options.command ?? [process.execPath, RELAY_SOURCE];
  const child = spawn(program!, [...args, file], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const listening = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk;
      if (output.includes('waiting for the client')) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('close', () => reject(new Error(`the relay program ended: ${output}`)));
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  await listening;
  return {
    child,
    keys,
    controlPort,
    proxyPort,
    port,
    output: () => output,
    ended,
    dial: () => dialTcp(controlPort),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      await rm(directory, { recursive: true });
    },
  };
}

/** The identities of the two ends. */
export function identities(keys: RelayKeys): { client: Identity; program: Identity } {
  return {
    client: identity(keys.client.private, keys.program.public),
    program: identity(keys.program.private, keys.client.public),
  };
}

export async function dialTcp(port: number, host = '127.0.0.1'): Promise<Duplex> {
  const socket = connect({ host, port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** A free port below the range that the kernel uses for outgoing connections, so that it stays free. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '::', () => resolve(true));
    });
    if (!free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
