import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { pollUntil } from '../async.ts';
import { startedBy } from './system.ts';

/** Ends all that a program has started, wherever that has gone, also if this process is killed. */
export interface Containment {
  /** What the program's environment needs in addition. */
  env: Record<string, string>;
  /** Called as soon as the program runs, in a session of its own. */
  hold(leader: number): void;
  /** Called when the program has exited, or was never started. Kills what it had started and what is still running a moment later. */
  end(leader: number | undefined): Promise<void>;
}

/** Processes inherit their environment, also those that leave the program's session. */
const MARK = 'DEVLOOP_COMMAND';
/** What the program has started may have to finish, such as the `tee` of a pipe. */
const FINISH_MS = 1_000;
const KILLED_MS = 1_000;
const POLL_MS = 20;

/**
 * Waits for the program's pid, which may not come any more when the program runs, and then for the line that says that nothing is left to do.
 * The kernel closes the pipe in place of that if devloop is killed. Without /proc, only the program's group ends. A process of another user cannot be killed, so the attempts are counted.
 */
const GUARD = `
leader=
while read -r line; do [ "$line" != done ] || exit 0; leader=$line; done
[ -z "$leader" ] || kill -s KILL -- "-$leader"
for attempt in 1 2 3 4 5; do
  found=$(grep -lsF -e "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for file in $found; do file=\${file%/environ}; kill -s KILL "\${file#/proc/}"; done
done`;

/** `onLeft`: something had to be killed. */
export function contain(onLeft: () => void): Containment {
  const value = randomBytes(8).toString('hex');
  const mark = `${MARK}=${value}`;
  const guard = spawn('/bin/sh', ['-c', GUARD, 'devloop-guard', mark], {
    detached: true,
    // The PATH can have directories that are relative to the current one, which can be a checkout.
    cwd: '/',
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a guard, the program runs as it would without devloop.
  guard.on('error', () => {});
  guard.stdin.on('error', () => {});
  const isGone = (leader: number, kills: boolean) => async (): Promise<boolean> => {
    const pids = await startedBy(leader, mark);
    if (kills) pids.forEach(kill);
    return pids.length === 0;
  };
  return {
    env: { [MARK]: value },
    hold: (leader) => void guard.stdin.write(`${leader}\n`),
    async end(leader) {
      if (leader === undefined) {
        guard.stdin.end('done\n');
        return;
      }
      const hasFinished = await pollUntil(isGone(leader, false), { everyMs: POLL_MS, limitMs: FINISH_MS });
      if (!hasFinished) await pollUntil(isGone(leader, true), { everyMs: POLL_MS, limitMs: KILLED_MS });
      guard.stdin.end('done\n');
      if (!hasFinished) onLeft();
    },
  };
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
