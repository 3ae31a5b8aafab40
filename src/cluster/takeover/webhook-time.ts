/** A review that is stopped at a breakpoint needs time, so the timeout of the webhooks is raised while the controller is debugged. */
import { type ObjectRef, refOf, type WebhookKind } from '../api/kinds.ts';
import { type Permission, permissionsOn } from '../api/permissions.ts';
import { applyChange, restoreChange } from '../marks/change.ts';
import { IN_ANNOTATION, type OwnChange } from '../marks/marks.ts';
import { ANY_ENTRY } from '../marks/paths.ts';
import type { Remainder } from '../marks/undo.ts';
import type { Step } from '../step.ts';
import type { Work } from '../work.ts';

/** The longest timeout that Kubernetes allows. */
const LONGEST_SECONDS = 30;

/** A webhook is identified by its name, because its place in the list changes when somebody adds another one. */
export const WEBHOOKS: OwnChange = {
  store: IN_ANNOTATION,
  fields: [
    {
      path: ['webhooks', ANY_ENTRY, 'timeoutSeconds'],
      isOwn: ({ before, after }) => isTimeout(before) && after === LONGEST_SECONDS,
    },
    {
      path: ['webhooks', ANY_ENTRY, 'failurePolicy'],
      isOwn: ({ before, after }) => (before === 'Fail' || before === 'Ignore') && after === 'Ignore',
    },
  ],
};

function isTimeout(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LONGEST_SECONDS;
}

export function webhookTimePermissions(kind: WebhookKind): Permission[] {
  return permissionsOn(kind, 'get list patch', { why: 'give the webhooks more time at breakpoints' });
}

/** One webhook of a configuration, as it is now. */
export interface Webhook {
  name: string;
  timeoutSeconds: number;
  failurePolicy: string;
}

/** What is changed in one webhook of a configuration. */
interface Change {
  name: string;
  field: 'timeoutSeconds' | 'failurePolicy';
  before: string | number;
  after: string | number;
}

/**
 * Gives these webhooks of a configuration 30 s for an answer, in one patch that carries its own undo. `ignore`: whether a review that they
 * do not answer is admitted. Returns undefined if nothing has to change.
 */
export function giveTime(
  ref: ObjectRef & { kind: WebhookKind },
  webhooks: Webhook[],
  { ignore }: { ignore: boolean },
): Step | undefined {
  const changes = webhooks.flatMap(({ name, timeoutSeconds, failurePolicy }) => [
    ...(timeoutSeconds < LONGEST_SECONDS
      ? [{ name, field: 'timeoutSeconds', before: timeoutSeconds, after: LONGEST_SECONDS } as const]
      : []),
    ...(ignore && failurePolicy !== 'Ignore'
      ? [{ name, field: 'failurePolicy', before: failurePolicy, after: 'Ignore' } as const]
      : []),
  ]);
  if (changes.length === 0) return undefined;
  const detail = detailOf(changes);
  const fields = changes.map(({ name, field, after }) => ({ path: ['webhooks', name, field], value: after }));
  return {
    changes: [{ action: 'update', object: refOf(ref.kind, ref), detail }],
    permissions: webhookTimePermissions(ref.kind),
    apply: (work) => applyChange(work, { ref, fields, detail }),
  };
}

export function restoreWebhooks(work: Work, ref: ObjectRef): Promise<Remainder[]> {
  return restoreChange(work, ref, WEBHOOKS);
}

/** For example `timeoutSeconds 5, 10 -> 30, failurePolicy Fail -> Ignore`. */
function detailOf(changes: Change[]): string {
  const fields = Map.groupBy(changes, ({ field }) => field);
  return [...fields]
    .map(([field, of]) => {
      const before = [...new Set(of.map((one) => one.before))].sort().join(', ');
      return `${field} ${before} -> ${of[0]!.after}`;
    })
    .join(', ');
}
