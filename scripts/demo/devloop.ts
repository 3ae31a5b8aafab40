import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { DevloopEvent } from '../../src/report/events.ts';
import { createHumanPrinter } from '../../src/report/human.ts';
import { limited, Refusal, type Stage } from './stage.ts';

const BIN = join(import.meta.dirname, '../../bin/devloop.js');

type EventOf<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

export interface Devloop extends AsyncDisposable {
  /** The next event of this type, after this call, for which `holds`. */
  next<T extends DevloopEvent['type']>(
    type: T,
    seconds: number,
    holds?: (event: EventOf<T>) => boolean,
  ): Promise<EventOf<T>>;
  /** Interrupts it as Ctrl-C does. Resolves to the exit code. */
  interrupt(): Promise<number>;
}

const END_SECONDS = 150;

/**
 * The real program. It runs with `--json`, so that the demo can wait for events instead of guessing times; the same printer turns
 * the same events into what a person would see.
 */
export function startDevloop(args: string[], { cluster, checkout, logs, narrator, signal }: Stage): Devloop {
  // The demo's own cluster is new, and the user has named any other.
  const child = spawn(process.execPath, [BIN, ...args, ...cluster.devloop.args, '--yes', '--json'], {
    cwd: checkout,
    env: { ...process.env, ...cluster.devloop.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printer = createHumanPrinter({
    ...devloopStreams(narrator.up),
    env: { NO_COLOR: '1' },
    verbosity: 'normal',
  });
  const waiting = new Set<(event: DevloopEvent | undefined) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    logs.append('devloop.ndjson', `${line}\n`);
    const event = JSON.parse(line) as DevloopEvent;
    if (event.type !== 'controller.output') printer.print(event);
    for (const look of waiting) look(event);
  });
  child.stderr.on('data', (chunk: Buffer) => logs.append('devloop.stderr', chunk.toString()));
  const exited = new Promise<number>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', (code, by) => resolve(code ?? (by === null ? 1 : 128)));
  });
  void exited.then(() => {
    printer.close();
    for (const look of waiting) look(undefined);
  });
  const end = async (): Promise<number> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGINT');
    const timer = setTimeout(() => void child.kill('SIGKILL'), END_SECONDS * 1000);
    return await exited.finally(() => clearTimeout(timer));
  };
  return {
    next(type, seconds, holds = () => true) {
      const found = new Promise<DevloopEvent>((resolve, reject) => {
        const look = (event: DevloopEvent | undefined): void => {
          if (event !== undefined && (event.type !== type || !holds(event as never))) return;
          waiting.delete(look);
          if (event === undefined) reject(new Refusal(`devloop ended before ${type}`));
          else resolve(event);
        };
        waiting.add(look);
      });
      found.catch(() => {});
      return limited(seconds, `devloop until ${type}`, signal, found) as never;
    },
    interrupt: end,
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}

/** Runs a devloop command, with only these flags, to its end and shows what it prints. */
export async function runDevloop(
  args: string[],
  { cluster, checkout, narrator, signal }: Stage,
): Promise<number> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: checkout,
    env: { ...process.env, NO_COLOR: '1', ...cluster.devloop.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', narrator.output);
  const exited = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  return await limited(60, `devloop ${args.join(' ')}`, signal, exited);
}

/** Shows what the printer writes, line by line. */
function devloopStreams(show: (line: string) => void): {
  stderr: NodeJS.WriteStream;
  stdout: NodeJS.WriteStream;
} {
  let rest = '';
  const write = (text: string): boolean => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) show(line);
    return true;
  };
  const stream = { write, isTTY: false, columns: 100 } as unknown as NodeJS.WriteStream;
  return { stderr: stream, stdout: stream };
}
