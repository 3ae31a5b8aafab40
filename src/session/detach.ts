import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { DevloopError, reportedError } from '../errors.ts';
import { textLines } from '../machine/lines.ts';
import { makePath, requireWritable, writeBelow } from '../machine/own-files.ts';
import { notice } from '../report/notices/catalogue.ts';
import { checkoutId, checkoutRoot } from './context/checkout.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import { localSessions } from './context/local-sessions.ts';
import type { Io } from './context/options.ts';
import { LONGEST_KEPT_MS } from './control/kept-output.ts';
import type { DetachedMessage } from './detached.ts';

export interface DetachOptions {
  /** The command of the process in the background. `file`: where its output goes. */
  command(file: string): string[];
  idleMs: number;
}

/**
 * Runs `up` in a process of its own, in a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it. Passes on what it
 * prints until it is ready, and throws what it fails with. An interruption until then ends it, and waits until it has restored everything.
 */
export async function upDetached({ command, idleMs }: DetachOptions, io: Io): Promise<void> {
  const root = await checkoutRoot(io.cwd);
  const machine = await thisMachine(io.env);
  const file = await outputFile(machine, root);
  const running = new Set((await localSessions(machine)).map(({ checkout }) => checkout));
  await removeOld(file, running);
  await using output = await openOutput(machine, file, running.has(root) ? 'a' : 'w');
  // Through bin/devloop.js, an older Node would start this one with an IPC channel, whose end ends the session.
  const [program, ...args] = command(file);
  const child = spawn(program!, args, {
    // An executable takes its name from it.
    argv0: process.argv0,
    cwd: io.cwd,
    env: io.env,
    detached: true,
    stdio: ['ignore', output.fd, output.fd, 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  exited.catch(() => {});
  // A second signal would not let it restore everything.
  const stop = (): void => void (child.killed || child.kill('SIGTERM'));
  io.signal.addEventListener('abort', stop, { once: true });
  try {
    const ready = await untilReady(child.stdio[3] as Readable, io);
    if (ready === undefined) {
      const exit = await exited;
      io.signal.throwIfAborted();
      throw endedBefore(file, exit);
    }
    const values = { pid: child.pid!, file, idleSeconds: idleMs / 1000 };
    io.emit(notice('session.detached', { session: ready.session, ...values }));
  } catch (error) {
    stop();
    await exited;
    throw error;
  } finally {
    io.signal.removeEventListener('abort', stop);
    child.unref();
  }
}

async function outputFile(machine: LocalMachine, root: string): Promise<string> {
  // A directory with another name would be a session's.
  const directory = join(machine.stateDirectory, '.detached');
  await requireWritable(directory);
  await makePath(directory);
  return join(directory, fileName(root));
}

function fileName(root: string): string {
  return `${checkoutId(root)}.log`;
}

/** What the sessions of other checkouts have left. Those that run keep theirs. */
async function removeOld(file: string, running: Set<string>): Promise<void> {
  const kept = new Set([basename(file), ...[...running].map(fileName)]);
  const isOld = async (path: string): Promise<boolean> =>
    Date.now() - (await stat(path)).mtimeMs > LONGEST_KEPT_MS;
  const others = (await readdir(dirname(file))).filter((name) => !kept.has(name));
  for (const path of others.map((name) => join(dirname(file), name)))
    if (await isOld(path).catch(() => false)) await rm(path, { force: true });
}

function openOutput({ stateDirectory }: LocalMachine, file: string, how: 'w' | 'a'): Promise<FileHandle> {
  return writeBelow(stateDirectory, async () => {
    // Always appended to, so that the process itself can shorten it.
    if (how === 'w') await (await open(file, 'w', 0o600)).close();
    return await open(file, 'a', 0o600);
  });
}

/** Passes on its events. Returns undefined if it ends before it is ready, and throws its error. */
async function untilReady(
  pipe: Readable,
  { emit }: Io,
): Promise<Extract<DetachedMessage, { is: 'ready' }> | undefined> {
  for await (const line of textLines(pipe.setEncoding('utf8'))) {
    const message = JSON.parse(line) as DetachedMessage;
    switch (message.is) {
      case 'event':
        emit(message.event);
        break;
      case 'ready':
        pipe.destroy();
        return message;
      case 'failed':
        throw reportedError(message);
      default:
        message satisfies never;
    }
  }
  return undefined;
}

function endedBefore(file: string, [code, signal]: [number | null, NodeJS.Signals | null]): DevloopError {
  const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
  return new DevloopError('session.not-ready', `The session in the background ${how} before it was ready.`, {
    hint: `See what it printed: ${file}`,
  });
}
