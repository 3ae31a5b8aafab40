import { sleep } from '../../async.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import { callersOf, type WebhookCall } from '../../operator/webhooks.ts';
import { describe } from '../../report/object-name.ts';
import { DEPLOY_AGAIN } from './causes.ts';

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
  let callers: string[] = [];
  let changes = 0;
  const endUnlessBack = async (last: string[]): Promise<void> => {
    const seen = changes;
    if ((await sleep(graceMs, signal)) && seen === changes) end(uninstalled(last));
  };
  const warnUnlessBack = async (gone: string[]): Promise<void> => {
    if (!(await sleep(atOnceMs, signal))) return;
    for (const caller of gone.filter((one) => !callers.includes(one)))
      emit({ type: 'warning', message: `${caller} was deleted, or no longer calls the controller.` });
  };
  return (calls) => {
    const before = callers;
    callers = callersOf(calls).map(describe);
    if (before.join() === callers.join()) return;
    changes++;
    void warnUnlessBack(before.filter((one) => !callers.includes(one)));
    if (callers.length === 0) void endUnlessBack(before);
  };
}

function uninstalled(callers: string[]): DevloopError {
  const message = `The operator is uninstalled: nothing calls its webhooks, because ${callers.join(', ')} ${callers.length === 1 ? 'was' : 'were'} deleted.`;
  return new DevloopError('target.gone', message, { hint: DEPLOY_AGAIN });
}
