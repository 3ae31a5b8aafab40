import type { ControllerLogChoice } from '../../config/choices.ts';
import { levelOf } from '../../controller/log-level.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { createToldFailures } from './told-failures.ts';

/** Which lines of the controller's log are shown, and at the end, which of its calls. */
export interface ControllerLog {
  /** What is shown for an event: nothing for a line that is left out, and before the end of a controller also its last lines. */
  shown(event: DevloopEvent): DevloopEvent[];
  /** Shows all lines from now on, or no longer. Returns what is shown after this call. */
  toggle(): ControllerLogChoice;
  /** The controller that runs reports its reconciles, so a row tells of each that fails. */
  reportsReconciles(): void;
}

/** How many of the last lines are shown whole. */
const LAST_LINES = 20;
/** After this time, a controller that is not ready yet shows its log whole. */
const PATIENCE_MS = 10_000;
/** What the controller says and does. */
const OF_CONTROLLER = new Set<DevloopEvent['type']>(['controller.output', 'call', 'reconcile']);

/**
 * The log is shown whole from the first line on that was left out, whenever somebody may have to know why the controller fails. `mayWrite`: once
 * the cluster is restored, the controller is refused whatever it writes until it has ended, and what it says and does about that is no failure.
 */
export function createControllerLog(
  chosen: ControllerLogChoice,
  { mayWrite = () => true, now = () => performance.now() }: { mayWrite?(): boolean; now?(): number } = {},
): ControllerLog {
  let choice = chosen;
  /** The last lines of the running controller, those before the first one that was left out excepted. */
  let last: DevloopEvent[] = [];
  /** Since when the controller has been starting; undefined while it answers. */
  let startsSince: number | undefined;
  let toldFailures = createToldFailures();
  const isShown = (event: DevloopEvent): boolean => {
    if (!OF_CONTROLLER.has(event.type) || choice === 'all') return true;
    if (!mayWrite()) return false;
    if (event.type !== 'controller.output') return true;
    return choice === 'warnings' && levelOf(event.line) !== 'detail' && !toldFailures.isTold(event);
  };
  const isWhole = (event: DevloopEvent): boolean => {
    if (choice === 'all' || event.type === 'controller.silent') return true;
    // The error of a controller that exits before it is ready contains its last lines.
    if (event.type === 'controller.exited') return !event.expected && startsSince === undefined;
    return choice !== 'off' && startsSince !== undefined && now() - startsSince > PATIENCE_MS;
  };
  return {
    shown(event) {
      if (event.type === 'controller.started')
        [last, startsSince, toldFailures] = [[], now(), createToldFailures()];
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
    reportsReconciles: () => toldFailures.reportsReconciles(),
    toggle() {
      if (choice === 'all') choice = chosen === 'all' ? 'warnings' : chosen;
      else choice = 'all';
      return choice;
    },
  };
}
