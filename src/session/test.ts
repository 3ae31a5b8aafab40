import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { reportWhileWaiting } from '../async.ts';
import { AGAIN, DevloopError, Ending } from '../errors.ts';
import { findProgram } from '../machine/find-program.ts';
import { runTool, type ToolResult } from '../machine/tool.ts';
import { shellWord } from '../phrases.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { Io } from './context/options.ts';
import { commandEnv } from './control/environment.ts';
import type { Guest, RunningSession } from './running.ts';
import { isWork, Tally } from './test-tally.ts';

export interface TestOptions {
  command: string[];
  /** Whether each review and each reconcile is printed, and not only what was denied or failed, at the end. */
  printsAll: boolean;
  /** The descriptor to which the command's standard output goes. */
  stdout: number;
}

/** How long the command has to end after Ctrl-C. */
const GRACE_SECONDS = 10;
const NOT_RESTORED = 4;

/**
 * Runs a command while the local code answers: `takeOver` is `up` with a guest. Throws `Ending` with the exit code of the command if it fails,
 * and 'test.not-found' or 'test.not-executable' before anything is taken over.
 */
export async function test(
  options: TestOptions,
  io: Io,
  takeOver: (io: Io, guest: Guest) => Promise<void>,
): Promise<void> {
  const { command, printsAll } = options;
  requireProgram(command, io);
  const tally = new Tally();
  let ended: { result: ToolResult; ms: number } | undefined;
  const guest: Guest = {
    hooks: (of) => of,
    observe: (event) => tally.observe(event),
    async attend(session) {
      // The whole suite tests the same program.
      session.standing.supervisor?.followFiles(false);
      const env = await commandEnv(session);
      tally.begin();
      session.work.emit({ type: 'test.started', command });
      const began = performance.now();
      const result = await run(options, env, session).finally(() => tally.end());
      ended = { result, ms: performance.now() - began };
    },
  };
  const emit: Emit = (event, ...rest) => {
    if (printsAll || !(isWork(event) || event.type === 'call')) io.emit(event, ...rest);
  };
  // The terminal is the command's: no line is kept at its bottom.
  const { attend: _, ...quietly } = io;
  const failure = await takeOver({ ...quietly, emit }, guest).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (ended === undefined) {
    if (failure) throw failure.error;
    return;
  }
  const { result, ms } = ended;
  const exitCode = exitCodeOf(result);
  if (!printsAll) tally.bad.forEach((one) => void io.emit(one));
  io.emit(doneEvent({ command, exitCode, signal: result.signal, ms, tally, printsAll }));
  if (exitCode !== 0) throw new Ending(exitCode, failure?.error);
  if (failure) throw new Ending(NOT_RESTORED, failure.error);
}

/** The exit codes are those of a shell. */
function requireProgram([program = '']: string[], { env }: Io): void {
  const found = findProgram(program, env.PATH);
  if ('path' in found) return;
  const directories = (env.PATH ?? '').split(delimiter);
  const files = program.includes('/') ? [program] : directories.map((one) => join(one || '.', program));
  const isThere = files.find((file) => existsSync(file));
  throw isThere === undefined
    ? new DevloopError('test.not-found', `${program} was not found. Nothing was taken over.`)
    : notExecutable(isThere, `ls -l ${shellWord(isThere)}`);
}

function notExecutable(file: string, check: string): DevloopError {
  return new DevloopError('test.not-executable', `${file} cannot be executed.`, { hint: `Check: ${check}` });
}

async function run(
  { command, stdout }: TestOptions,
  env: NodeJS.ProcessEnv,
  { io, work: { emit, signal } }: RunningSession,
): Promise<ToolResult> {
  const onKilled = (): void => emit(notice('test.killed', { command, seconds: GRACE_SECONDS }));
  const onLeft = (): void => emit(notice('test.left', { command }));
  const ending = Promise.withResolvers<void>();
  const waits = { for: 'the command to end', limitSeconds: GRACE_SECONDS };
  signal.addEventListener('abort', () => void reportWhileWaiting(ending.promise, waits, emit), {
    once: true,
  });
  const result = await runTool(command, {
    ...{ cwd: io.cwd, env, signal, contained: { onLeft } },
    ...{ stdio: [0, stdout, 2], grace: { ms: GRACE_SECONDS * 1000, onKilled } },
  }).finally(ending.resolve);
  const [program = ''] = command;
  // Its file is there, so what reads it is not.
  if (result.missing) throw notExecutable(program, `head -n 1 ${shellWord(program)}`);
  return result;
}

function exitCodeOf({ code, signal }: ToolResult): number {
  return code ?? 128 + constants.signals[signal!];
}

interface Done {
  command: string[];
  exitCode: number;
  signal: NodeJS.Signals | null;
  ms: number;
  tally: Tally;
  printsAll: boolean;
}

function doneEvent({ command, exitCode, signal, ms, tally, printsAll }: Done): DevloopEvent {
  const { reviews, reconciles } = tally.counts;
  const hasMore = exitCode !== 0 && !printsAll && reviews.all + reconciles.all > 0;
  return {
    ...{ type: 'test.done', command, exitCode, ms, reviews, reconciles },
    ...(signal && { signal }),
    ...(hasMore && { hint: `${AGAIN} --verbose  # prints each review and reconcile` }),
  };
}
