import { basename } from 'node:path';
import { isatty } from 'node:tty';
import { inspect } from 'node:util';
import { type ChosenCluster, type Typed, withNextCommands } from './cli/next-commands.ts';
import { runCommand } from './cli/run.ts';
import type { OutputOptions, Task } from './cli/shell.ts';
import { CATALOGUE, DevloopError, Ending, messageOf, originOf } from './errors.ts';
import { fileCause } from './machine/own-files.ts';
import { isInForeground } from './machine/system.ts';
import { gathered } from './report/gather.ts';
import { createHumanPrinter, type Printer } from './report/human.ts';
import type { Keyboard } from './report/keyboard.ts';
import { notice } from './report/notices/catalogue.ts';
import { createOutput } from './report/output.ts';
import type { AttendedSession } from './report/session-state.ts';
import { breakSilence } from './report/silence.ts';
import { safeText } from './report/text.ts';

declare const DEVLOOP_VERSION: string;

const INTERRUPTED = CATALOGUE.interrupted.exit;
/**
 * Under npm or npx, one Ctrl-C reaches devloop twice: from the terminal, and from npm or npx, which pass on their own signal. Two signals
 * within this time count as one Ctrl-C.
 */
const ECHO_MS = 300;

const args = process.argv.slice(2);
const leaving = new AbortController();
let output: OutputOptions = { json: asksForJson(args), restores: false, verbosity: 'normal' };
let printer: Printer | undefined;
let keyboard: Keyboard | undefined;
let typed: Typed = { name: 'devloop', command: '', flags: [], hasWords: false, own: [] };
let cluster: ChosenCluster = {};
let crashed = false;
/** Why some of the output was lost. */
let unwritten: Error | undefined;
let interruptedAt: number | undefined;
/** Whether this process may have changed the terminal's settings. */
let usesTerminal = false;
/** Resolves when everybody who used the terminal has finished. */
let lent: Promise<unknown> = Promise.resolve();
const suspending = new Set<() => void>();

const stdout = createOutput(1, () => process.stdout, surviveBrokenPipe);
const stderr = createOutput(2, () => process.stderr, surviveBrokenPipe);

followSignals();
surviveCrashes();
// Not awaited here: an executable runs this file as a CommonJS module.
void end(main());

async function end(running: Promise<number>): Promise<never> {
  const code = await running;
  printer?.close();
  await Promise.all([stdout.flushed(), stderr.flushed()]);
  return exit(crashed ? 1 : unwritten ? await reportUnwritten(unwritten) : code);
}

async function main(): Promise<number> {
  const name = basename(process.argv[1] ?? '').startsWith('kubectl-') ? 'kubectl devloop' : 'devloop';
  const write = (text: string): void => void stdout.write(text);
  try {
    const shell = { name, version: DEVLOOP_VERSION, write, columns: stdout.columns, run };
    await runCommand(args, shell, (command) => {
      typed = command;
    });
    return leaving.signal.aborted ? INTERRUPTED : 0;
  } catch (error) {
    return await report(error);
  }
}

async function run(chosen: OutputOptions, task: Task): Promise<void> {
  output = chosen;
  const { print } = await openPrinter();
  const { env } = process;
  const onCluster = (chosen: ChosenCluster): void => {
    cluster = chosen;
  };
  const io = { emit: print, signal: leaving.signal, env, cwd: currentDirectory(), onCluster, onSuspend };
  // process.stdin.isTTY would construct the stream, and isatty loads node:tty. Neither is needed if stderr is not a terminal, so stderr is
  // checked first.
  const isAttended = stderr.isTTY && isatty(0);
  const asks = isAttended ? { ask, terminal, ...(output.json ? {} : { confirm }) } : {};
  const hasKeys = isAttended && stdout.isTTY && !output.json && env.TERM !== 'dumb';
  await task({ ...io, ...asks, ...(hasKeys ? { attend } : {}) });
}

async function attend(session: AttendedSession): Promise<Disposable> {
  const { Keyboard } = await import('./report/keyboard.ts');
  const { print, ...printer } = await openPrinter();
  // Ctrl-Z and Ctrl-\ signal the whole process group, as the terminal would, so that a parent such as npm also gets the signal.
  const signal = (name: NodeJS.Signals): void =>
    name === 'SIGINT' ? interrupt(name) : void process.kill(0, name);
  usesTerminal = true;
  if (keyboard === undefined) {
    const help = (): void => print(notice('session.keys', {}));
    const ports = { stdin: process.stdin, printer, help, isInForeground };
    const opened = new Keyboard({ ...ports, signal, leave: interrupt });
    process.on('SIGCONT', () => opened.continue());
    keyboard = opened;
  }
  return keyboard.attend(session);
}

/** Calls the listener before Ctrl-Z suspends this process. */
function onSuspend(listener: () => void): Disposable {
  if (suspending.size === 0) process.on('SIGTSTP', suspend);
  suspending.add(listener);
  return {
    [Symbol.dispose]() {
      suspending.delete(listener);
      if (suspending.size === 0) process.off('SIGTSTP', suspend);
    },
  };
}

function suspend(): void {
  for (const listener of suspending) listener();
  // Whatever they print is written by then.
  setImmediate(() => {
    process.off('SIGTSTP', suspend);
    process.once('SIGCONT', () => suspending.size > 0 && process.on('SIGTSTP', suspend));
    process.kill(process.pid, 'SIGTSTP');
  });
}

function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const hint = 'Change to a directory that exists, such as your checkout, and run the command again.';
    throw new DevloopError('usage.invalid', 'The current directory was deleted.', { hint, cause });
  }
}

async function confirm(question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await ask(`${question} (yes/no) `, { hidden: false })).trim());
}

/** The system stops all of devloop if a program that it started reads from the terminal in the background. */
function terminal(): typeof lend | undefined {
  return isInForeground() ? lend : undefined;
}

/** One at a time. */
async function lend<T>(work: () => Promise<T>): Promise<T> {
  const turn = lent.then(() => {
    usesTerminal = true;
    return keyboard?.whileAway(work) ?? work();
  });
  lent = turn.catch(() => undefined);
  return await turn;
}

async function ask(question: string, options: { hidden: boolean }): Promise<string> {
  const { askAtTerminal } = await import('./report/ask.ts');
  const { stdin, stderr } = process;
  const asked = (): Promise<string> =>
    // The question can quote text from the cluster, which could control the terminal.
    askAtTerminal(safeText(question), options, {
      stdin,
      stderr,
      signal: leaving.signal,
      interrupt: () => interrupt('SIGINT'),
    });
  return await lend(asked);
}

async function openPrinter(): Promise<Printer> {
  if (printer === undefined) {
    const created = await createPrinter();
    const { print, ...others } = output.isPatient ? created : breakSilence(created);
    printer = {
      ...others,
      print: (event, deployment) => print(withNextCommands(event, typed, cluster), deployment),
    };
  }
  return printer;
}

async function createPrinter(): Promise<Printer> {
  const streams = gathered(stdout, stderr);
  if (output.json) {
    const { createJsonPrinter } = await import('./report/json.ts');
    return createJsonPrinter(
      (text) => void streams.stdout.write(text),
      () => new Date(),
    );
  }
  return createHumanPrinter({ ...streams, env: process.env, verbosity: output.verbosity });
}

/** Prints what failed and returns the exit code. */
async function report(thrown: unknown): Promise<number> {
  if (thrown instanceof Ending) {
    const code = thrown.cause === undefined ? 0 : await report(thrown.cause);
    return code === INTERRUPTED ? code : thrown.exitCode;
  }
  const error = originOf(thrown);
  if (error instanceof DevloopError) {
    const { code, message, hint, exitCode, isSummary } = error;
    (await openPrinter()).print({
      type: 'error',
      code,
      message,
      ...(hint === undefined ? {} : { hint }),
      exitCode,
      ...(isSummary ? { summary: true } : {}),
    });
    return exitCode;
  }
  const { signal } = leaving;
  if (signal.aborted && (error === signal.reason || (error as Error).name === 'AbortError'))
    return INTERRUPTED;
  await reportBug(thrown);
  return 1;
}

async function reportBug(error: unknown): Promise<void> {
  if (output.json)
    (await openPrinter()).print({ type: 'error', code: 'bug', message: messageOf(error), exitCode: 1 });
  printer?.showStates?.([]);
  // The error can quote text from the cluster, which could control the terminal.
  stderr.write(
    `${safeText(inspect(error))}\nThis is a bug in devloop ${DEVLOOP_VERSION}. Please report it with the lines above.\n`,
  );
}

function followSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  // This happens only if an older Node started this process (bin/devloop.js) and has exited.
  process.once('disconnect', () => leave('the process that started devloop has ended'));
  process.channel?.unref();
}

/**
 * The first signal restores everything, and the next one exits at once. Ctrl-C at a question of devloop and the key q count as signals,
 * too.
 */
function interrupt(signal: string): void {
  if (interruptedAt === undefined) {
    interruptedAt = performance.now();
    leave(signal);
  } else if (performance.now() - interruptedAt > ECHO_MS) {
    printer?.close();
    exit(INTERRUPTED);
  }
}

/**
 * At its end, Node restores the settings of a terminal that it has changed. From the background, the system would stop this process each
 * time it tries, so it would never end.
 */
function exit(status: number): never {
  if (usesTerminal && !isInForeground()) process.kill(process.pid, 'SIGKILL');
  process.exit(status);
}

function leave(reason: string): void {
  if (leaving.signal.aborted) return;
  if (output.restores) {
    printer?.print(notice('session.ending', { reason }));
  }
  leaving.abort(reason);
}

/**
 * The reader of the output has closed it (`| head`, a closed terminal), or the disk is full: devloop prints nothing more, but restores the
 * cluster. A reader that stops reading has seen enough. But a truncated file must not pass for the whole answer, so a full disk makes the
 * command fail.
 */
function surviveBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') unwritten ??= error;
  leave('the output was closed');
}

async function reportUnwritten(error: Error): Promise<number> {
  const cause = fileCause('', error) ?? messageOf(error);
  stderr.write(`error: devloop could not write all of its output: ${cause}.\n`);
  return CATALOGUE['files.not-written'].exit;
}

/** An exception in a callback must not leave the cluster taken over. */
function surviveCrashes(): void {
  process.on('uncaughtException', (error) => {
    crashed = true;
    // A failed report must not throw: its error would come back here as another crash, endlessly.
    reportBug(error).catch(() => undefined);
    leave('devloop has crashed');
  });
}

function asksForJson(args: string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).includes('--json');
}
