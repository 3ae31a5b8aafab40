import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { DevloopEvent } from '../../src/report/events.ts';

export const BIN = join(import.meta.dirname, '../../bin/devloop.js');

type EventOf<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

export interface DevloopRun extends AsyncDisposable {
  readonly pid: number;
  readonly events: DevloopEvent[];
  /**
   * The next event of this type that no call has returned yet (or the next one that fits). Rejects if devloop ends without such an event.
   */
  waitFor<T extends DevloopEvent['type']>(
    type: T,
    fits?: (event: EventOf<T>) => boolean,
    limitMs?: number,
  ): Promise<EventOf<T>>;
  /** The same for an event of any type. */
  waitForAny(fits: (event: DevloopEvent) => boolean, limitMs?: number): Promise<DevloopEvent>;
  signal(signal: NodeJS.Signals): void;
  readonly exited: Promise<number>;
  /** The text on stderr, for failure messages. */
  readonly log: () => string;
}

export interface DevloopOptions {
  cwd: string;
  env?: Record<string, string>;
  /** The words before devloop's command: `['unshare', '--uts', …]` for another machine. */
  through?: string[];
  /** Whether `up` gets no `--yes` beside these arguments: for tests of the question itself. */
  isAsked?: true;
}

/** Agrees to changes in the tests' clusters, which devloop has not seen before. */
export const YES = '--yes';

/** Runs the real program with `--json` and reads its events. */
export function startDevloop(
  args: string[],
  { cwd, env = {}, through = [], isAsked }: DevloopOptions,
): DevloopRun {
  const agrees = args[0] === 'up' && !isAsked;
  const flags = ['--json', ...(agrees ? [YES] : [])];
  const [program, ...rest] = [...through, process.execPath, BIN, ...withFlags(args, flags)];
  const child = spawn(program!, rest, {
    cwd,
    env: { ...process.env, NODE_EXTRA_CA_CERTS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const events: DevloopEvent[] = [];
  const listeners = new Set<() => void>();
  let stderr = '';
  let code: number | undefined;
  const notify = (): void => [...listeners].forEach((listener) => void listener());
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk));
  createInterface({ input: child.stdout }).on('line', (line) => {
    // Commands that devloop suggests repeat the flag, but the test has not typed it.
    events.push(JSON.parse(agrees ? line.replaceAll(` ${YES}`, '') : line));
    notify();
  });
  const exited = new Promise<number>((resolve) => {
    child.on('close', (status, signal) => {
      code = status ?? (signal === 'SIGKILL' ? 137 : 128);
      resolve(code);
      notify();
    });
  });
  const used = new Set<DevloopEvent>();
  const log = (): string => `${stderr}\n${events.map((event) => JSON.stringify(event)).join('\n')}`;
  function waitForAny(
    fits: (event: DevloopEvent) => boolean,
    limitMs = 90_000,
    what = 'such event',
  ): Promise<DevloopEvent> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        listeners.delete(look);
        clearTimeout(timer);
      };
      const look = (): void => {
        const event = events.find((one) => !used.has(one) && fits(one));
        if (event === undefined && code === undefined) return;
        done();
        if (event === undefined) {
          reject(new Error(`devloop ended with ${code} before ${what}:\n${log()}`));
          return;
        }
        used.add(event);
        resolve(event);
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`no ${what} within ${limitMs} ms:\n${log()}`));
      }, limitMs);
      listeners.add(look);
      look();
    });
  }
  return {
    pid: child.pid!,
    events,
    exited,
    log,
    signal: (signal) => void child.kill(signal),
    async waitFor(type, fits = () => true, limitMs) {
      const event = await waitForAny((one) => one.type === type && fits(one as never), limitMs, type);
      // Until then, a Pod in the cluster may answer what a test asks.
      if (event.type === 'session.ready' && event.oldPods !== undefined)
        await waitForAny(
          (one) => one.type === 'manager.gone' && one.session === event.session,
          limitMs,
          'manager.gone',
        );
      return event as never;
    },
    waitForAny: (fits, limitMs) => waitForAny(fits, limitMs),
    async [Symbol.asyncDispose]() {
      if (code === undefined) child.kill('SIGKILL');
      await exited;
    },
  };
}

function withFlags(args: string[], flags: string[]): string[] {
  const at = args.indexOf('--');
  return at < 0 ? [...args, ...flags] : [...args.slice(0, at), ...flags, ...args.slice(at)];
}

/** Runs a command of devloop to its end. */
export async function runDevloop(
  args: string[],
  options: DevloopOptions,
): Promise<{ code: number; events: DevloopEvent[]; log: string }> {
  await using run = startDevloop(args, options);
  const code = await run.exited;
  return { code, events: run.events, log: run.log() };
}
