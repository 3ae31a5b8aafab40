import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';

export interface ControllerCommand {
  command: string[];
  cwd: string;
  env: Record<string, string>;
}

export interface WaitingProcess {
  child: ChildProcessByStdio<Writable | null, Readable, Readable>;
  /** Lets the program begin, or ends it before it has. */
  begin(go: boolean): void;
}

/** `read` fails when the pipe is closed without a word, which is what the kernel does when devloop is killed. */
const WAIT = 'read -r go && exec "$@" </dev/null';
const SHELL = '/bin/sh';

/**
 * Starts a shell that becomes the program as soon as it may begin: with the same pid, process group, signals and environment. Until then,
 * the death of devloop ends it.
 *
 * A shell drops variables whose names it does not understand (`a.b`), so with such a variable the program begins at once. So does one
 * that does not exist: Node says best why.
 */
export function spawnWaiting({ command, cwd, env }: ControllerCommand): WaitingProcess {
  const options = { cwd, env: { ...env, PWD: cwd }, detached: true };
  const [program = '', ...args] = command;
  if (!Object.keys(env).every(isShellName) || !isProgram(program, cwd, env.PATH)) {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    return { child, begin: (go) => void (go || child.kill('SIGKILL')) };
  }
  const child = spawn(SHELL, ['-c', WAIT, SHELL, ...command], {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // Somebody may have killed it in the meantime.
  child.stdin.on('error', () => {});
  return { child, begin: (go) => void child.stdin.end(go ? '\n' : '') };
}

function isShellName(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name);
}

/** Whether there is an executable file, looked for as exec does. */
function isProgram(name: string, cwd: string, path = '/usr/bin:/bin'): boolean {
  const places = name.includes('/') ? [name] : path.split(':').map((one) => `${one || '.'}/${name}`);
  return places.some((place) => {
    const file = resolve(cwd, place);
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  });
}
