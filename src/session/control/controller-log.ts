import type { ControllerLogChoice } from '../../config/choices.ts';
import { levelOf } from '../../controller/log-level.ts';
import type { DevloopEvent } from '../../report/events.ts';

/** Which lines of the controller's log are shown. */
export interface ControllerLog {
  /** What is shown for an event: nothing for a line that is left out, and before the end of a controller also its last lines. */
  shown(event: DevloopEvent): DevloopEvent[];
  /** Shows all lines from now on, or no longer. Returns what is shown after this call. */
  toggle(): ControllerLogChoice;
}

/** How many of the last lines are shown whole. */
const LAST_LINES = 20;
/** After this time, a controller that is not ready yet shows its log whole. */
const PATIENCE_MS = 10_000;

/** The log is shown whole from the first line on that was left out, whenever somebody may have to know why the controller fails. */
export function createControllerLog(
  chosen: ControllerLogChoice,
  now: () => number = () => performance.now(),
): ControllerLog {
  let choice = chosen;
  /** The last lines of the running controller, those before the first one that was left out excepted. */
  let last: DevloopEvent[] = [];
  /** Since when the controller has been starting; undefined while it answers. */
  let startsSince: number | undefined;
  const isShown = (event: DevloopEvent): boolean => {
    if (event.type !== 'controller.output' || choice === 'all') return true;
    return choice === 'warnings' && levelOf(event.line) !== 'detail';
  };
  const isWhole = (event: DevloopEvent): boolean => {
    if (choice === 'all' || event.type === 'controller.silent') return true;
    // The error of a controller that exits before it is ready contains its last lines.
    if (event.type === 'controller.exited') return !event.expected && startsSince === undefined;
    return choice !== 'off' && startsSince !== undefined && now() - startsSince > PATIENCE_MS;
  };
  return {
    shown(event) {
      if (event.type === 'controller.started') [last, startsSince] = [[], now()];
      if (event.type === 'controller.ready') startsSince = undefined;
      const isLine = event.type === 'controller.output';
      if (isWhole(event)) {
        const all = [...last, event];
        last = [];
        return all;
      }
      const shown = isShown(event);
      if (isLine && (last.length > 0 || !shown)) last = [...last, event].slice(-LAST_LINES);
      return shown ? [event] : [];
    },
    toggle() {
      if (choice === 'all') choice = chosen === 'all' ? 'warnings' : chosen;
      else choice = 'all';
      return choice;
    },
  };
}
