import { type SpawnOptions, spawn } from 'node:child_process';
import { killGroup, signalGroup } from './process-group.ts';

export interface ToolOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal;
}

export interface ToolResult {
  /** null when a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** Both streams, in the order in which they came. */
  output: string;
  /** The program could not be started: there is no such file, or it may not be run. */
  missing: boolean;
}

/** How long an interrupted tool may take to remove its temporary files. */
const INTERRUPT_MS = 2000;

/** Runs a program to its end in a group of its own, as `go build` and `make` start others. An abort ends the whole group. */
export async function runTool(command: string[], options: ToolOptions = {}): Promise<ToolResult> {
  options.signal?.throwIfAborted();
  const spawnOptions: SpawnOptions = { detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
  if (options.cwd !== undefined) spawnOptions.cwd = options.cwd;
  if (options.env !== undefined) spawnOptions.env = options.env;
  const child = spawn(command[0]!, command.slice(1), spawnOptions);
  const result: ToolResult = { code: null, stdout: '', stderr: '', output: '', missing: false };
  collect(child.stdout!, result, 'stdout');
  collect(child.stderr!, result, 'stderr');
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => {
      result.missing = true;
      resolve();
    });
    child.once('close', (code) => {
      result.code = code;
      resolve();
    });
  });
  const onAbort = () => void interrupt(child.pid, ended);
  options.signal?.addEventListener('abort', onAbort, { once: true });
  await ended;
  options.signal?.removeEventListener('abort', onAbort);
  options.signal?.throwIfAborted();
  return result;
}

function collect(stream: NodeJS.ReadableStream, result: ToolResult, name: 'stdout' | 'stderr'): void {
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    result[name] += text;
    result.output += text;
  });
}

/** SIGINT first: it makes `go build` remove its work directory, which can hold gigabytes. */
async function interrupt(pid: number | undefined, ended: Promise<void>): Promise<void> {
  if (pid === undefined) return;
  signalGroup(pid, 'SIGINT');
  const timer = setTimeout(() => void killGroup(pid, 0), INTERRUPT_MS);
  await ended;
  clearTimeout(timer);
}
