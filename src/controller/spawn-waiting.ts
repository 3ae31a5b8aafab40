import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { type Placed, withPlaced } from '../machine/mount-namespace.ts';
import { type OnlyWay, withoutNetwork } from '../machine/network-namespace.ts';
import { isProgram } from './named-program.ts';

export interface ControllerCommand {
  command: string[];
  cwd: string;
  env: Record<string, string>;
  /** Files that the program finds at their paths; `scratch` is a directory from which they are put there. */
  placed?: { files: Placed[]; scratch: string } | undefined;
  /** All that the program reaches over the network; absent if it has the network of this machine. */
  onlyWay?: OnlyWay | undefined;
}

export interface WaitingProcess {
  child: ChildProcessByStdio<Writable | null, Readable, Readable>;
  /** Lets the program begin, or ends the process before that. */
  begin(go: boolean): void;
}

/** Why the system cannot start the program, and what to do. */
export interface NotSpawned {
  failure: string;
  hint: string;
}

/** `read` fails if the pipe is closed before a line was written. The kernel closes the pipe when devloop is killed. */
const WAIT = 'read -r go && exec "$@" </dev/null';
const SHELL = '/bin/sh';

/**
 * Starts a shell that becomes the program as soon as the program may begin: with the same pid, process group, signals and environment.
 * Until then, it ends when devloop is killed.
 *
 * A shell drops variables whose names it does not understand (`a.b`), so with such a variable the program begins at once. A program that
 * does not exist is started at once, too, because Node's error explains that best.
 */
export function spawnWaiting(run: ControllerCommand): WaitingProcess | NotSpawned {
  try {
    return spawnShell(run);
  } catch (error) {
    // Node reports most other failures later.
    if ((error as NodeJS.ErrnoException).code !== 'E2BIG') throw error;
    return tooLarge(run);
  }
}

/** Whether `spawnWaiting` can make the program wait. */
export function canWait({ command: [program = ''], cwd, env }: ControllerCommand): boolean {
  return Object.keys(env).every(isShellName) && isProgram(program, cwd, env.PATH);
}

function spawnShell(run: ControllerCommand): WaitingProcess {
  const { command, cwd, env, onlyWay, placed = { files: [], scratch: '' } } = run;
  const options = { cwd, env: { ...env, PWD: cwd }, detached: true };
  const inPlace = (words: string[]): [string, string[]] => {
    const own = onlyWay === undefined ? words : withoutNetwork(onlyWay, words);
    const [program = '', ...args] = withPlaced(placed.files, placed.scratch, own);
    return [program, args];
  };
  if (!canWait(run)) {
    const child = spawn(...inPlace(command), { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    return { child, begin: (go) => void (go || child.kill('SIGKILL')) };
  }
  const child = spawn(...inPlace([SHELL, '-c', WAIT, SHELL, ...command]), {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // The shell may have been killed in the meantime.
  child.stdin.on('error', () => {});
  return { child, begin: (go) => void child.stdin.end(go ? '\n' : '') };
}

function isShellName(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name);
}

/** The limit of Linux for one argument, or for one variable with its name, in bytes. */
const LARGEST_WORD = 128 * 1024;

/** Reports only sizes, since the values may be secret. */
function tooLarge({ command, env }: ControllerCommand): NotSpawned {
  const sizes = [
    ...Object.entries(env).map(([name, value]) => [`variable ${name}`, `${name}=${value}`] as const),
    ...command.map((word, index) => [`argument ${index}`, word] as const),
  ].map(([what, text]) => ({ what, bytes: Buffer.byteLength(text) + 1 }));
  const large = sizes.filter(({ bytes }) => bytes > LARGEST_WORD);
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  const failure =
    large.length > 0
      ? `the system allows at most 128 KiB for one variable or argument, but ${large.map(sizeText).join(', ')}`
      : `its variables and arguments add up to ${kib(total)}, which is more than the system allows`;
  return { failure, hint: 'Let the controller read long values from a file.' };
}

function sizeText({ what, bytes }: { what: string; bytes: number }): string {
  return `${what} is ${kib(bytes)}`;
}

function kib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`;
}
