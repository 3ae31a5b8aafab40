import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../cluster/run.ts';
import { end } from '../../support/sshd/network.ts';

export interface Measured {
  p50Ms: number;
  p99Ms: number;
  slowestMs: number;
  perSecond: number;
  /** Requests that took 38 to 48 ms. */
  delayed: number;
  asked: number;
  failed: number;
}

/** The words before the client's command that run it in another network. */
export type Enter = readonly string[];

/** A TLS server, and a server for bulk data. */
export interface Served extends AsyncDisposable {
  ports: [number, number];
}

/** Both ends of the load, built from main.go. */
export interface Load extends AsyncDisposable {
  /** A static binary. */
  program: string;
  /** The ports of the TLS server and of the bulk server on 127.0.0.1. */
  here: [number, number];
  /** Starts the same two servers on another address of this machine. */
  serve(address: string): Promise<Served>;
  requests(
    kind: 'new' | 'keep',
    address: string,
    port: number,
    concurrency: number,
    ms: number,
    enter?: Enter,
  ): Promise<Measured>;
  /** MB/s; `up` is towards this machine. */
  bulk(
    direction: 'up' | 'down',
    address: string,
    port: number,
    megabytes: number,
    enter?: Enter,
  ): Promise<number>;
  /** Opens this many connections to the bulk server, each of which gets 1 KB back. */
  connections(
    address: string,
    port: number,
    concurrency: number,
    count: number,
    enter?: Enter,
  ): Promise<{ perSecond: number; failed: number }>;
}

export async function buildLoad(): Promise<Load> {
  const dir = await mkdtemp(join(tmpdir(), 'devloop-tunnel-bench-'));
  const program = await buildProgram(dir);
  const local = await startServer(program, '127.0.0.1');
  return {
    program,
    here: local.ports,
    serve: (address) => startServer(program, address),
    async requests(kind, address, port, concurrency, ms, enter = []) {
      const args = ['load', kind, `${address}:${port}`, String(concurrency), String(ms)];
      return JSON.parse(await runIn(enter, [program, ...args])) as Measured;
    },
    async bulk(direction, address, port, megabytes, enter = []) {
      const args = ['bulk', direction, `${address}:${port}`, String(megabytes)];
      return Number(await runIn(enter, [program, ...args]));
    },
    async connections(address, port, concurrency, count, enter = []) {
      const args = ['connections', `${address}:${port}`, String(concurrency), String(count)];
      return JSON.parse(await runIn(enter, [program, ...args])) as { perSecond: number; failed: number };
    },
    async [Symbol.asyncDispose]() {
      await local[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
    },
  };
}

/** Builds main.go and the files beside it, as a static binary in a directory. */
export async function buildProgram(dir: string): Promise<string> {
  const program = join(dir, 'tunnel-bench');
  await run('go', ['build', '-o', program, '.'], { cwd: import.meta.dirname, env: { CGO_ENABLED: '0' } });
  return program;
}

async function startServer(program: string, address: string): Promise<Served> {
  const server = spawn(program, ['serve', address], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const [tls, bulk] = String(line).trim().split(' ').map(Number);
  return { ports: [tls!, bulk!], [Symbol.asyncDispose]: () => end(server) };
}

function runIn(enter: Enter, command: string[]): Promise<string> {
  const [first, ...rest] = [...enter, ...command];
  return run(first!, rest);
}

/** Requests one byte from the bulk server. Only an answer from the far end counts, since sshd itself accepts every connection. */
export function answers(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: 1_000 });
    const done = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => socket.write(Buffer.of(0, 0, 0, 0, 0, 0, 0, 1)));
    socket.once('data', () => done(true));
    for (const event of ['error', 'end', 'timeout']) socket.once(event, () => done(false));
  });
}
