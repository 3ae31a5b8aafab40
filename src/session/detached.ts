import { appendFileSync, closeSync, fstatSync, openSync, readSync, truncateSync } from 'node:fs';
import { Socket } from 'node:net';
import { sleep } from '../async.ts';
import { DevloopError, originOf } from '../errors.ts';
import { timeText } from '../phrases.ts';
import type { DevloopEvent } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { Io } from './context/options.ts';

/** One line from a process in the background to the one that started it. */
export type DetachedMessage =
  | { is: 'event'; event: DevloopEvent }
  | { is: 'ready'; session: string }
  | { is: 'failed'; code: string; message: string; hint: string | undefined; isSummary: boolean };

/** The file descriptor of the pipe to the process that started this one. */
const PIPE = 3;
const MOST_BYTES = 8 * 2 ** 20;
const LOOK_EVERY_MS = 2_000;

export interface DetachedOptions {
  /** This process prints to it. */
  file: string;
  idleMs: number;
}

/**
 * `up` in the background: tells the process that started it what happens until the session is ready, keeps its own output short, and ends the
 * session when nobody has used it for a while.
 */
export async function runDetached(
  { file, idleMs }: DetachedOptions,
  io: Io,
  up: (io: Io) => Promise<void>,
): Promise<void> {
  const ended = new AbortController();
  const starter = toStarter();
  const idle = watchIdle(idleMs, ended.signal);
  void keepShort(file, ended.signal);
  const emit: Io['emit'] = (seen, ...rest) => {
    const event = seen.type === 'session.ready' ? { ...seen, detached: true as const } : seen;
    if (isUse(event)) idle.used();
    io.emit(event, ...rest);
    starter.send({ is: 'event', event });
    if (event.type !== 'session.ready') return;
    idle.begin();
    void starter.end({ is: 'ready', session: event.session });
  };
  const onIdle = (): void => io.emit(notice('session.idle', { seconds: idleMs / 1000 }));
  idle.signal.addEventListener('abort', onIdle);
  const signal = AbortSignal.any([io.signal, idle.signal]);
  try {
    await up({ ...io, emit, signal, onAsked: idle.used });
  } catch (thrown) {
    const error = originOf(thrown);
    if (error instanceof DevloopError) {
      const { code, message, hint, isSummary } = error;
      await starter.end({ is: 'failed', code, message, hint, isSummary });
    }
    throw thrown;
  } finally {
    ended.abort();
    await starter.end();
  }
}

/** The process that started this one may be gone. */
function toStarter(): { send(message: DetachedMessage): void; end(last?: DetachedMessage): Promise<void> } {
  const pipe = new Socket({ fd: PIPE, readable: false, writable: true });
  const closed = new Promise<void>((resolve) => pipe.once('close', resolve));
  pipe.on('error', () => pipe.destroy());
  const send = (message: DetachedMessage): void => {
    if (pipe.writable) pipe.write(`${JSON.stringify(message)}\n`);
  };
  return {
    send,
    async end(last) {
      if (last) send(last);
      pipe.end(() => pipe.destroy());
      await closed;
    },
  };
}

/** What shows that somebody uses the session: saves, reviews, and reconciles that somebody else has caused. */
export function isUse(event: DevloopEvent): boolean {
  switch (event.type) {
    case 'build.started':
    case 'controller.restarting':
      return event.reason.length > 0;
    case 'review':
      return true;
    case 'reconcile':
      return event.after.some(({ isOwn }) => !isOwn);
    default:
      return false;
  }
}

interface Idle {
  /** From now on, somebody has to use the session. */
  begin(): void;
  used(): void;
  /** Aborts when `used` was not called for so long. */
  signal: AbortSignal;
}

export function watchIdle(idleMs: number, ended: AbortSignal): Idle {
  const idle = new AbortController();
  let usedAt = 0;
  const watch = async (): Promise<void> => {
    usedAt = performance.now();
    for (let leftMs = idleMs; leftMs > 0; leftMs = usedAt + idleMs - performance.now())
      if (!(await sleep(leftMs, ended))) return;
    idle.abort(`no save, review or command for ${timeText(idleMs / 1000)}`);
  };
  return {
    begin: () => void watch(),
    used() {
      usedAt = performance.now();
    },
    signal: idle.signal,
  };
}

/** Drops the older half of the output of this process when it is long. Nothing else happens meanwhile, so that no line is lost. */
async function keepShort(file: string, ended: AbortSignal): Promise<void> {
  while (await sleep(LOOK_EVERY_MS, ended)) shorten(file, MOST_BYTES);
}

export function shorten(file: string, most: number): void {
  try {
    const fd = openSync(file, 'r');
    try {
      const { size } = fstatSync(fd);
      if (size <= most) return;
      const kept = Buffer.alloc(Math.floor(most / 2));
      const length = readSync(fd, kept, 0, kept.length, size - kept.length);
      truncateSync(file);
      appendFileSync(file, kept.subarray(kept.indexOf('\n') + 1, length));
    } finally {
      closeSync(fd);
    }
  } catch {
    // Somebody has removed the file, or the disk is full: the session goes on.
  }
}
