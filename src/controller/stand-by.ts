import { isDeepStrictEqual } from 'node:util';
import { type ControllerCommand, canWait, spawnWaiting, type WaitingProcess } from './spawn-waiting.ts';

/**
 * A process that waits to become the controller. It is made while devloop waits for something else, and puts the files of the Pod in place
 * in the meantime. There is at most one. Disposal ends it, and so does the death of devloop.
 */
export interface StandBy extends Disposable {
  /** Makes a process in place of the previous one; makes none if the program cannot wait. */
  make(run: ControllerCommand): void;
  /** The process that was made for exactly this command, if it still waits. Any other process is ended. */
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
      // The start itself tries again, and reports the error.
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
