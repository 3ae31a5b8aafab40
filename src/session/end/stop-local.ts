import { pollUntil, reportWhileWaiting } from '../../async.ts';
import type { LeaseHolder } from '../../cluster/takeover/lease-holder.ts';
import { DevloopError } from '../../errors.ts';
import { otherWriter } from '../../machine/own-files.ts';
import { isSuspended } from '../../machine/system.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { isRunning, type LocalMachine } from '../context/local-machine.ts';
import { ownerOfSession } from '../context/local-sessions.ts';
import { ENDING } from '../context/observed.ts';
import type { Io } from '../context/options.ts';

/** A slow manager alone may take 90 s to become ready. */
const LIMIT_SECONDS = 180;
const LOOK_EVERY_MS = 250;

/**
 * Stops a session of this machine as Ctrl-C would, and waits until it has restored everything and its process has exited, so that its ports
 * are free. A suspended session continues for that. False if this user is not allowed to stop it, or cannot see its process. Anybody who is
 * allowed to write Leases can name any process in one, so the session's own record has to name the same process, and nobody else may be
 * able to write that record.
 */
export async function stopLocalSession(
  { sessionId, holder }: LeaseHolder,
  machine: Pick<LocalMachine, 'stateDirectory'>,
  io: Io,
): Promise<boolean> {
  const { pid, processStart, health } = holder!;
  const name = `${sessionId} (pid ${pid})`;
  // A session that is ending already gets no signal: a second one would end it at once, before it has restored everything.
  const isEnding = health === ENDING;
  // Since the session was found, its process may have ended, and another one may have its pid.
  const running = await isRunning({ pid, processStart });
  if (running === false) return true;
  if (running === undefined && !isEnding) return false;
  const owner = otherWriter(machine.stateDirectory) === undefined && ownerOfSession(machine, sessionId);
  if (!owner || owner.pid !== pid || owner.processStart !== processStart) return false;
  io.emit(notice('restore.asked', { session: sessionId, pid, isEnding }));
  try {
    if (!isEnding) process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return false;
  }
  const hasExited = async (): Promise<boolean> => {
    const isStillRunning = await isRunning({ pid, processStart });
    // It may be suspended later, too: by its terminal, which it uses from the background, or by a person.
    if (isStillRunning === true && isSuspended(pid)) continueProcess(pid);
    return isStillRunning === false;
  };
  const timing = { everyMs: LOOK_EVERY_MS, limitMs: LIMIT_SECONDS * 1000, signal: io.signal };
  const wait = { for: `session ${name} to restore everything`, limitSeconds: LIMIT_SECONDS };
  if (await reportWhileWaiting(pollUntil(hasExited, timing), wait, io.emit)) return true;
  io.signal.throwIfAborted();
  throw new DevloopError(
    'session.held',
    `Session ${name} did not restore everything within ${LIMIT_SECONDS} s.`,
    {
      hint: `kill -9 ${pid}; devloop down`,
    },
  );
}

/** Only for a process that is proven to be a session of this user. */
function continueProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch {
    // It has just ended.
  }
}
