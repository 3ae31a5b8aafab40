import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../support/cluster/run.ts';
import { end } from '../../support/sshd/network.ts';

/** A place that answers, and what to put in front of a command to run it where that is reached. */
export interface Place {
  enter: readonly string[];
  address: string;
  /** Of the TLS server and of the plain one. */
  ports: readonly [tls: number, plain: number];
}

export interface Measured {
  p50Ms: number;
  p99Ms: number;
  slowestMs: number;
  perSecond: number;
  asked: number;
  failed: number;
}

/** Both ends of the load, built from main.go. */
export interface Load extends AsyncDisposable {
  program: string;
  /** Ports here of the TLS server and of the plain one. */
  here: readonly [tls: number, plain: number];
  requests(kind: 'new' | 'keep', place: Place, concurrency: number, ms: number): Promise<Measured>;
  /** That many plain connections with one question each. */
  connections(
    place: Place,
    concurrency: number,
    count: number,
  ): Promise<{ failed: number; perSecond: number }>;
}

export async function buildLoad(): Promise<Load> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'devloop-relay-bench-'));
  stack.defer(() => rm(dir, { recursive: true }));
  const program = join(dir, 'relay-bench');
  await run('go', ['build', '-o', program, '.'], { cwd: import.meta.dirname, env: { CGO_ENABLED: '0' } });
  const server = spawn(program, ['serve'], { stdio: ['pipe', 'pipe', 'inherit'] });
  stack.defer(() => end(server));
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const [tls, plain] = String(line).trim().split(' ').map(Number);
  const owned = stack.move();
  return {
    program,
    here: [tls!, plain!],
    requests(kind, { enter, address, ports }, concurrency, ms) {
      const args = ['load', kind, `${address}:${ports[0]}`, String(concurrency), String(ms)];
      return jsonOf<Measured>([...enter, program, ...args]);
    },
    connections({ enter, address, ports }, concurrency, count) {
      const args = ['connections', `${address}:${ports[1]}`, String(concurrency), String(count)];
      return jsonOf([...enter, program, ...args]);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** What the program says about failed requests goes to stderr, where one sees it. */
function jsonOf<T>([program, ...args]: string[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const child = execFile(program!, args, (error, stdout) =>
      error === null ? resolve(JSON.parse(stdout) as T) : reject(error),
    );
    child.stderr!.pipe(process.stderr, { end: false });
  });
}
