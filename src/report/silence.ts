import type { DevloopEvent } from './events.ts';
import type { Printer } from './human.ts';

const LOOK_EVERY_MS = 1_000;
/** Together with the time until the next look, this is at most five seconds. */
const LONGEST_MS = 4_000;
const START = 'the cluster';

/** Prints what a command is waiting for when it has printed nothing for five seconds, until the command is done or waits for the user. */
export function breakSilence(printer: Printer): Printer {
  let doing: string | undefined = START;
  let since = performance.now();
  let printedAt = since;
  let isReady = false;
  let isPlan = false;
  const look = (): void => {
    const now = performance.now();
    if (doing === undefined || now - printedAt < LONGEST_MS) return;
    printer.print({ type: 'waiting', for: doing, seconds: Math.round((now - since) / 1000) });
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  return {
    ...printer,
    print(event, deployment) {
      printedAt = performance.now();
      isReady ||= event.type === 'session.ready';
      const isLimits = event.type === 'note' && event.code === 'plan.limits';
      isPlan ||= isLimits;
      const isPlanning = isLimits || (isPlan && event.type === 'build.done');
      const next = isPlanning ? 'the plan' : nextAfter(event, isReady);
      if (next !== 'as before') [doing, since] = [next, printedAt];
      printer.print(event, deployment);
    },
    close() {
      clearInterval(timer);
      printer.close();
    },
  };
}

/** What the command is waiting for after an event; undefined if it is done or waits for the user. */
function nextAfter(event: DevloopEvent, isReady: boolean): string | undefined {
  switch (event.type) {
    case 'build.started':
      return 'the build of the controller';
    case 'session.started':
      return 'the take-over';
    case 'build.done':
      if (!isReady) return 'the take-over';
      return event.identical ? undefined : 'the new build to serve';
    case 'controller.ready':
    case 'controller.down':
      return isReady ? undefined : 'as before';
    case 'session.stopping':
      return 'everything to be restored';
    case 'session.ready':
    case 'session.restored':
    case 'build.failed':
    case 'build.reverted':
    case 'controller.replaced':
    case 'status':
    case 'error':
      return undefined;
    default:
      return 'as before';
  }
}
