import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { SOAK } from './repeat.ts';

/** How many connections of an attack are open at the same time. */
export const AT_ONCE = SOAK ? 50 : 10;

/**
 * The faster garbage is created, the more room V8 takes for it, up to 100 MiB, and keeps it. With so little room for young objects, the
 * memory of a process shows what it holds.
 */
export const LITTLE_ROOM = '--max-semi-space-size=4';

const FIXTURES = join(import.meta.dirname, '../fixtures/gateway');

export interface Served {
  name: string;
  pair: KeyPair;
}

/** A directory with a server's certificate and key, for other processes. */
async function directoryOf({
  pair,
}: Served): Promise<AsyncDisposable & { certificate: string; key: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-hostile-'));
  const certificate = join(directory, 'ca.pem');
  const key = join(directory, 'key.pem');
  await writeFile(certificate, pair.certificate);
  await writeFile(key, pair.key);
  return { certificate, key, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
}

export interface Intruders extends AsyncDisposable {
  /** Resolves when all their connections are closed. */
  do(what: 'attack' | 'fill'): Promise<void>;
}

/** Hostile clients in another process, so that their memory does not count as this one's. The first port is that of a gateway. */
export async function startIntruders(ports: number[], served: Served): Promise<Intruders> {
  const files = await directoryOf(served);
  const script = join(FIXTURES, 'intruders.mjs');
  const intruders = fork(script, [ports.join(), served.name, files.certificate, String(AT_ONCE)]);
  return {
    async do(what) {
      intruders.send(what);
      await once(intruders, 'message');
    },
    async [Symbol.asyncDispose]() {
      intruders.kill();
      await files[Symbol.asyncDispose]();
    },
  };
}

export interface OwnGateway extends AsyncDisposable {
  port: number;
  child: ChildProcess;
}

/** A gateway in a process of its own. */
export async function startOwnGateway(controllerPort: number, served: Served): Promise<OwnGateway> {
  const files = await directoryOf(served);
  const script = join(FIXTURES, 'gateway.mjs');
  const args = [served.name, files.certificate, files.key, String(controllerPort)];
  const child = fork(script, args, { execArgv: [LITTLE_ROOM] });
  const [port] = (await once(child, 'message')) as [number];
  return {
    port,
    child,
    async [Symbol.asyncDispose]() {
      child.kill();
      await files[Symbol.asyncDispose]();
    },
  };
}

/** How much memory a process uses, in MiB. */
export async function memoryOf({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) / 1024;
}
