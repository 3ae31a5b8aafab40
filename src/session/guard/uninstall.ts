import { sleep } from '../../async.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import { callersOf, type WebhookCall } from '../../operator/webhooks.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { DEPLOY_AGAIN } from '../../report/notices/guard.ts';
import { describe } from '../../report/object-name.ts';

/** Some managers delete their webhook configurations when they stop, and create them again when they are ready. */
const GRACE_MS = 60_000;
/** Other managers delete their earlier configurations, and create them again at once. */
const AT_ONCE_MS = 2_000;

/**
 * Returns a function that is called with all calls to the Services, at first and after each change. It warns of a webhook configuration or
 * CRD that no longer calls them. If nothing has called the Services for a while, the operator counts as uninstalled, and `end` is called.
 */
export function noticeUninstall(
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
  end: (error: DevloopError) => void,
  { graceMs = GRACE_MS, atOnceMs = AT_ONCE_MS } = {},
): (calls: WebhookCall[]) => void {
  let callers: ObjectRef[] = [];
  let changes = 0;
  const endUnlessBack = async (last: ObjectRef[]): Promise<void> => {
    const seen = changes;
    if ((await sleep(graceMs, signal)) && seen === changes) end(uninstalled(last));
  };
  const warnUnlessBack = async (gone: ObjectRef[]): Promise<void> => {
    if (!(await sleep(atOnceMs, signal))) return;
    for (const caller of without(gone, callers)) emit(notice('guard.caller-gone', { caller }));
  };
  return (calls) => {
    const before = callers;
    callers = callersOf(calls);
    if (before.map(describe).join() === callers.map(describe).join()) return;
    changes++;
    void warnUnlessBack(without(before, callers));
    if (callers.length === 0) void endUnlessBack(before);
  };
}

function without(all: ObjectRef[], others: ObjectRef[]): ObjectRef[] {
  const names = new Set(others.map(describe));
  return all.filter((one) => !names.has(describe(one)));
}

function uninstalled(callers: ObjectRef[]): DevloopError {
  const message = `The operator is uninstalled: nothing calls its webhooks, because ${callers.map(describe).join(', ')} ${callers.length === 1 ? 'was' : 'were'} deleted.`;
  return new DevloopError('target.gone', message, { hint: DEPLOY_AGAIN });
}
