import { setTimeout as pause } from 'node:timers/promises';
import type { LeaseHolder } from '../../cluster/takeover/lease-holder.ts';
import { DevloopError } from '../../errors.ts';
import { ENDING } from '../context/health.ts';
import { isRunning } from '../context/local-machine.ts';
import type { Io } from '../context/options.ts';

const END_LIMIT_SECONDS = 120;

/**
 * Asks a session of this machine to end as Ctrl-C would, and waits until it has put everything back and its process has ended,
 * so that its ports are free. False when it is not ours to end.
 */
export async function endLocal(session: string, occupant: LeaseHolder, io: Io): Promise<boolean> {
  const { pid, processStart, health } = occupant.holder!;
  // A second signal would end it at once, in the middle of that.
  const isEnding = health === ENDING;
  const what = isEnding ? 'it is putting everything back' : 'it is told to put everything back';
  io.emit({ type: 'note', message: `Session ${session} runs here (pid ${pid}); ${what}.` });
  try {
    if (!isEnding) process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return false;
  }
  const started = Date.now();
  for (let seconds = 0; seconds < END_LIMIT_SECONDS; seconds = Math.floor((Date.now() - started) / 1000)) {
    if (!(await isRunning({ pid, processStart }))) return true;
    io.emit({
      type: 'waiting',
      for: `session ${session} (pid ${pid}) to put everything back`,
      seconds,
      limitSeconds: END_LIMIT_SECONDS,
    });
    await pause(250);
    io.signal.throwIfAborted();
  }
  throw new DevloopError(
    'session.held',
    `Session ${session} (pid ${pid}) did not put everything back within ${END_LIMIT_SECONDS} s.`,
    {
      hint: `End it with: kill -9 ${pid}; then run devloop down again`,
    },
  );
}
