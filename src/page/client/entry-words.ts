import type { CallSummary, ReconcileSummary } from '../../report/call.ts';
import {
  amountOf,
  callWord,
  causeWords,
  changesText,
  faultIn,
  mainCause,
  nameIn,
  ofResource,
  retryIn,
  subjectOf,
  wordOf,
  writeWords,
} from '../../report/call-words.ts';
import { faultWords } from '../../report/fault.ts';
import type { ReviewSummary } from '../../report/review.ts';
import {
  byAnyUser,
  changesIn,
  lateWords,
  prunedWords,
  shortName,
  subject,
  withoutSubject,
} from '../../report/review-words.ts';
import { type Entry, isReconcile } from '../entry.ts';

/** What a row shows, besides its time and its id. */
export interface Words {
  name: string;
  status: string;
  tone: 'good' | 'bad' | 'doubtful' | 'muted';
  /** `mutating`, `reconcile`: what kind of entry it is. */
  type?: string;
  /** The webhook, the controller, or what a request has below it. */
  via: string;
  by: string;
  /** The parts of what it changed, or why it failed. */
  said: string[];
  ms: number;
  /** A fault of the session has made something fail. */
  isInjected?: true;
  /** The limit of the time, if somebody has set one. */
  budget?: number;
}

const VERDICT_TONES: Record<ReviewSummary['verdict'], Words['tone']> = {
  ...{ allowed: 'good', converted: 'good', denied: 'bad', failed: 'bad' },
  ...{ 'answered-by-devloop': 'doubtful', unanswered: 'doubtful' },
};

export function ofReview(review: ReviewSummary): Words {
  const {
    kind,
    verdict,
    webhook,
    webhookType,
    message = '',
    warnings = [],
    faults,
    late,
    isOldBuild,
  } = review;
  const type = kind === 'conversion' ? 'conversion' : webhookType;
  return {
    ...{ name: subject(review), status: verdict, tone: VERDICT_TONES[verdict], via: shortName(webhook) },
    ...(type && { type }),
    by: byAnyUser(review.user).replace(/^by /, ''),
    said: [
      isOldBuild ? 'the old build answered' : '',
      late ? `later: ${lateWords(late)}` : '',
      verdict === 'allowed' ? '' : withoutSubject(message, review.object?.name, review.resource?.kind),
      changesIn(review),
      prunedWords(review),
      warnings.length > 0 ? `warns: ${warnings.join('; ')}` : '',
      faults ? faultWords(faults) : '',
    ],
    ...(isInjected(review) ? { isInjected: true } : {}),
    ...{ ms: review.ms.total, budget: review.ms.budget },
  };
}

export function ofCall(call: CallSummary): Words {
  const { code, message = '', name, kind, resource, warnings = [], isWrite, isUnchanged, isDryRun } = call;
  const failed = code === undefined || code >= 400;
  const [cause] = call.after ?? [];
  return {
    ...{ name: subjectOf(call), type: isWrite ? 'write' : 'read', via: '', by: '' },
    status: failed && code !== undefined ? `${code} ${callWord(call)}` : callWord(call),
    tone: failed ? 'bad' : isWrite && !isUnchanged ? 'good' : 'muted',
    said: [
      isDryRun ? '(dry run)' : '',
      withoutSubject(message, name, kind, ofResource(resource)),
      changesText(call).trim(),
      ...faultIn(call),
      warnings.length > 0 ? `warns: ${warnings.join('; ')}` : '',
      ...amountOf(call),
      cause ? `shortly after: ${causeWords(cause, call)}` : '',
    ],
    ...(isInjected(call) ? { isInjected: true } : {}),
    ms: call.ms,
  };
}

export const MOST_WRITES = 3;

export function ofReconcile(reconcile: ReconcileSummary): Words {
  const { kind, namespace, name, controller, calls } = reconcile;
  const status = wordOf(reconcile);
  const cause = mainCause(reconcile);
  const after = retryIn(reconcile) ?? (cause && causeWords(cause, reconcile));
  return {
    ...{ name: nameIn({ kind, namespace, name }), type: 'reconcile', via: controller, by: '', status },
    tone:
      status === 'reconciled'
        ? calls.length > 0
          ? 'good'
          : 'muted'
        : status === 'cut off'
          ? 'doubtful'
          : 'bad',
    said: [errorIn(reconcile), writesOf(reconcile) || 'no write', after ? `after: ${after}` : ''],
    ...(isInjected(reconcile) ? { isInjected: true } : {}),
    ms: reconcile.ms,
  };
}

/** Most errors are those of a call, which says it. */
export function errorIn({ kind, name, calls, error }: ReconcileSummary): string {
  const isSaid = calls.some(({ message }) => message && error?.includes(message));
  return error === undefined || isSaid ? '' : withoutSubject(error, name, kind);
}

/** Whether a fault has made something of it fail. */
export function isInjected(entry: Entry): boolean {
  return isReconcile(entry) ? entry.calls.some(({ faults }) => faults) : entry.faults !== undefined;
}

export function writesOf(reconcile: ReconcileSummary): string {
  const { calls } = reconcile;
  const more = calls.length > MOST_WRITES ? [`and ${calls.length - MOST_WRITES} more`] : [];
  return [...calls.slice(0, MOST_WRITES).map((call) => writeWords(call, reconcile)), ...more].join(', ');
}
