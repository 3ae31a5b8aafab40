import { expect } from 'vitest';
import { ANY_SESSION } from '../../src/cluster/names.ts';
import type { DevloopEvent } from '../../src/report/events.ts';
import { objectText } from '../../src/report/text.ts';
import { type DevloopOptions, runDevloop } from './devloop.ts';

/** Runs `up` with these arguments as a dry run. Returns its events. */
export async function dryRun(args: string[], options: DevloopOptions): Promise<DevloopEvent[]> {
  const { code, events, log } = await runDevloop(['up', '--dry-run', ...args], options);
  expect(code, log).toBe(0);
  return events;
}

/** Fails unless an `up` that is ready has made exactly the changes that its dry run printed. `route`: the one that it uses, if any. */
export function expectAsPlanned(events: DevloopEvent[], planned: DevloopEvent[], route?: string): void {
  const { session } = events.find((event) => event.type === 'session.ready')!;
  const plans = changesIn(planned, (one) => one === undefined || one === route);
  const made = changesIn(events, () => true).map((change) => change.replaceAll(session, ANY_SESSION));
  expect(made.length).toBeGreaterThan(0);
  expect(made.filter((change) => !plans.some((plan) => fits(change, plan)))).toEqual([]);
  expect(plans.filter((plan) => !made.some((change) => fits(change, plan)))).toEqual([]);
}

/** `update Service shop/webhook` of each change, if its route counts. */
function changesIn(events: DevloopEvent[], counts: (route?: string) => boolean): string[] {
  return events.flatMap((event) =>
    event.type === 'change' && counts(event.route) ? [`${event.action} ${objectText(event.object)}`] : [],
  );
}

/** `*` in a plan stands for what is not known yet. */
function fits(change: string, plan: string): boolean {
  const [head = '', tail] = plan.split('*');
  return tail === undefined ? change === plan : change.startsWith(head) && change.endsWith(tail);
}
