import { type ChildProcess, spawn } from 'node:child_process';
import { pollUntil, sleep } from '../async.ts';
import { contain } from './contain.ts';
import { findProgram } from './find-program.ts';
import { endGroup } from './process.ts';
import { hasRunningMember } from './system.ts';

export interface ToolOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
  /** Receives the standard error as it arrives. */
  onErrors?: (text: string) => void;
  /** The program's standard input, which is empty by default. */
  input?: string;
  /** How many of the last characters of each output are kept, of a program that can write any number. Absent: all. */
  keeps?: number | undefined;
  /** What the program's standard input and outputs are. Absent: its outputs are kept. */
  stdio?: (number | 'ignore')[];
  /** How long it has after an abort, and what is called if it is killed then. */
  grace?: { ms: number; onKilled(): void };
  /** All that the program has started ends with it, and with this process, even if that is killed. `onLeft`: something had to be killed. */
  contained?: { onLeft(): void };
}

export interface ToolResult {
  /** null if a signal ended the program. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Both streams, in the order in which they arrived. */
  output: string;
  /** Whether the program could not be started, because its file is missing or not executable. */
  missing: boolean;
}

/** How long an interrupted program gets to clean up: `go build` removes its work directory, which can hold gigabytes. */
const INTERRUPT_MS = 2000;
/** How long output is read after the program has exited: a daemon that it started can keep the output open for as long as it lives. */
const OUTPUT_MS = 1000;
const POLL_MS = 10;

const NOT_STARTED: ToolResult = {
  ...{ code: null, signal: null, stdout: '', stderr: '', output: '' },
  missing: false,
};

/**
 * Runs a program until it ends, in a process group of its own, because `go build` and `make` start other programs. An abort ends the whole
 * group.
 */
export async function runTool(command: string[], options: ToolOptions = {}): Promise<ToolResult> {
  const { cwd, env, signal, input, keeps, onErrors, stdio, grace, contained } = options;
  signal?.throwIfAborted();
  const result: ToolResult = { ...NOT_STARTED };
  const [named = '', ...args] = command;
  // A path is the caller's own; a name must not be that of a program in the current directory, which can be a checkout.
  const found = named.includes('/') ? { path: named } : findProgram(named, (env ?? process.env).PATH);
  if ('why' in found) return { ...result, missing: true };
  const containment = contained && contain(contained.onLeft);
  const child = spawn(found.path, args, {
    detached: true,
    stdio: stdio ?? [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...(env ?? process.env), ...containment?.env },
  });
  if (child.pid !== undefined) containment?.hold(child.pid);
  // The program may exit without reading all of its input.
  child.stdin?.on('error', () => {}).end(input);
  if (child.stdout) collect(child.stdout, { result, name: 'stdout', keeps });
  if (child.stderr) collect(child.stderr, { result, name: 'stderr', keeps });
  if (onErrors) child.stderr?.on('data', onErrors);
  const ended = new AbortController();
  const graceMs = grace?.ms ?? INTERRUPT_MS;
  const interrupt = async () => {
    if (child.pid === undefined) return;
    await endGroup(child.pid, 'SIGINT', graceMs, ended.signal);
    if (!ended.signal.aborted) grace?.onKilled();
  };
  signal?.addEventListener('abort', interrupt, { signal: ended.signal });
  child.once('exit', () => void closeOutput(child, ended.signal, signal));
  await new Promise<void>((resolve) => {
    child.once('error', () => {
      result.missing = true;
      resolve();
    });
    child.once('close', (code, by) => {
      [result.code, result.signal] = [code, by];
      resolve();
    });
  });
  // The grace is for all of the group: a shell ends at once, and what it has started may still clean up.
  if (containment && signal?.aborted) await groupEnds(child.pid, graceMs + OUTPUT_MS);
  ended.abort();
  await containment?.end(child.pid);
  signal?.throwIfAborted();
  return result;
}

/**
 * Closes the output of a program that has exited: everything that it wrote itself has been read by then. After an abort, this waits instead
 * until every process of its group has ended.
 */
async function closeOutput(
  { pid, stdout, stderr }: ChildProcess,
  ended: AbortSignal,
  signal: AbortSignal = ended,
): Promise<void> {
  await sleep(OUTPUT_MS, AbortSignal.any([ended, signal]));
  if (ended.aborted) return;
  if (signal.aborted) await groupEnds(pid, 2 * INTERRUPT_MS, ended);
  stdout?.destroy();
  stderr?.destroy();
}

async function groupEnds(group: number | undefined, limitMs: number, signal?: AbortSignal): Promise<void> {
  if (group === undefined) return;
  const isEmpty = async (): Promise<boolean> => !(await hasRunningMember(group));
  await pollUntil(isEmpty, { everyMs: POLL_MS, limitMs, ...(signal && { signal }) });
}

function collect(
  stream: NodeJS.ReadableStream,
  { result, name, keeps }: { result: ToolResult; name: 'stdout' | 'stderr'; keeps: number | undefined },
): void {
  const kept = (text: string): string => (keeps === undefined ? text : text.slice(-keeps));
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    result[name] = kept(result[name] + text);
    result.output = kept(result.output + text);
  });
}
