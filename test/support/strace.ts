import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** System calls that change files, or send bytes. */
const CALLS = [
  ...['openat', 'write', 'writev', 'pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'rename', 'symlink'],
  ...['link', 'unlink', 'unlinkat', 'mkdir', 'rmdir', 'chmod', 'fchmod'],
];

/** The threads of a Node process: `main` runs JavaScript and sends; `files` does the asynchronous file operations. */
export type Thread = 'main' | 'files';

/** With this, a Node process has only one thread for file operations, so its calls come in the same order each time. */
export const ONE_FILE_THREAD = { UV_THREADPOOL_SIZE: '1' };

/** One system call: the `nth` with that name in its thread, counted from 1. */
export interface Call {
  thread: Thread;
  name: string;
  nth: number;
  /** The line that strace prints. */
  text: string;
}

export interface Trace {
  /** Stops tracing. Returns the calls that changed a file, or sent bytes to `apiServer` (address:port). */
  lasting(apiServer: string): Promise<Call[]>;
}

/** Records the system calls of a running Node process. */
export async function traceCalls(pid: number, log: string): Promise<Trace> {
  const threads = await threadsOf(pid);
  const strace = await attach(Object.values(threads), log, []);
  return {
    async lasting(apiServer) {
      await strace.detach();
      const text = await readFile(log, 'utf8');
      const calls = (['main', 'files'] as const).flatMap((one) => callsIn(text, one, threads[one]));
      return calls.filter((call) => isLasting(call, apiServer));
    },
  };
}

export interface Trap {
  /** The call that was reached; undefined if the process ended without making it. */
  sprung(): Promise<Call | undefined>;
}

/** Kills a running Node process with SIGKILL when it is about to make this call, counted from now. */
export function killBefore(pid: number, call: Call, log: string): Promise<Trap> {
  return inject(pid, call, 'signal=KILL', log);
}

/** The call fails with this error (`ENOSPC`), and does nothing. */
export function failAt(pid: number, call: Call, error: string, log: string): Promise<Trap> {
  return inject(pid, call, `error=${error}`, log);
}

async function inject(pid: number, { thread, name, nth }: Call, what: string, log: string): Promise<Trap> {
  const threads = await threadsOf(pid);
  const strace = await attach([threads[thread]], log, ['--inject', `${name}:${what}:when=${nth}`]);
  return {
    async sprung() {
      await strace.detach();
      const calls = callsIn(await readFile(log, 'utf8'), thread);
      return calls.find((call) => call.name === name && call.nth === nth);
    },
  };
}

/** Node names its threads. */
async function threadsOf(pid: number): Promise<Record<Thread, number>> {
  for (const id of await readdir(`/proc/${pid}/task`)) {
    const name = await readFile(`/proc/${pid}/task/${id}/comm`, 'utf8').catch(() => '');
    if (name.trim() === 'libuv-worker') return { main: pid, files: Number(id) };
  }
  throw new Error(`process ${pid} has no thread for file operations yet`);
}

async function attach(
  threads: number[],
  log: string,
  options: string[],
): Promise<{ detach(): Promise<void> }> {
  const attached = threads.flatMap((id) => ['--attach', String(id)]);
  const shown = ['--trace', CALLS.join(), '--decode-fds=all', '--output', log];
  const strace = spawn('strace', [...shown, ...options, ...attached], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(strace, 'close');
  let left = threads.length;
  let said = '';
  for await (const line of createInterface({ input: strace.stderr })) {
    said += `${line}\n`;
    if (/^strace: Process \d+ attached/.test(line) && --left === 0) break;
  }
  if (left > 0) throw new Error(`strace could not attach: ${said}`);
  return {
    async detach() {
      strace.kill('SIGTERM');
      await ended;
    },
  };
}

/** With several threads in a log, each line begins with the id of one. */
function callsIn(text: string, thread: Thread, id?: number): Call[] {
  const counts = new Map<string, number>();
  const calls: Call[] = [];
  for (const line of text.split('\n')) {
    const [, prefix, name] = /^(?:(\d+) +)?(\w+)\(/.exec(line) ?? [];
    if (name === undefined || (id !== undefined && Number(prefix) !== id)) continue;
    const nth = (counts.get(name) ?? 0) + 1;
    counts.set(name, nth);
    calls.push({ thread, name, nth, text: line });
  }
  return calls;
}

/** Pipes, terminals and wake-ups between threads do not outlive the process. */
export function isLasting({ name, text }: Call, apiServer: string): boolean {
  if (name === 'openat') return /O_WRONLY|O_RDWR|O_CREAT/.test(text);
  if (!/^p?write/.test(name)) return true;
  if (text.includes('<TCP:[')) return text.includes(`->${apiServer}]`);
  return /\(\d+<\/(?!dev\/)/.test(text);
}
