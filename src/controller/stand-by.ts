import { isDeepStrictEqual } from 'node:util';
import { type ControllerCommand, canWait, spawnWaiting, type WaitingProcess } from './spawn-waiting.ts';

/**
 * A process that waits to become the controller: it is made while something else is waited for, and puts the files of the Pod in their
 * places meanwhile. At most one; disposing ends it, and so does the death of devloop.
 */
export interface StandBy extends Disposable {
  /** Makes one in place of the one before; none where the program could not wait. */
  make(run: ControllerCommand): void;
  /** The one that was made for exactly this, if it still waits. Any other one is ended. */
  take(run: ControllerCommand): WaitingProcess | undefined;
}

export function createStandBy(): StandBy {
  let made: { run: ControllerCommand; process: WaitingProcess } | undefined;
  const end = (): void => {
    made?.process.begin(false);
    made = undefined;
  };
  return {
    make(run) {
      end();
      const process = canWait(run) ? spawnWaiting(run) : undefined;
      if (process === undefined || 'failure' in process) return;
      // The start itself, which tries again, tells of it.
      process.child.on('error', () => {});
      made = { run, process };
    },
    take(run) {
      const found = made;
      if (found === undefined || !isDeepStrictEqual(found.run, run) || !isWaiting(found.process)) {
        end();
        return undefined;
      }
      made = undefined;
      return found.process;
    },
    [Symbol.dispose]: end,
  };
}

function isWaiting({ child }: WaitingProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}
