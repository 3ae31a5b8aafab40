import { counted } from '../../phrases.ts';
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
  subjectOf,
  wordOf,
  writeWords,
} from '../../report/call-words.ts';
import { faultWords } from '../../report/fault.ts';
import type { ObjectName } from '../../report/object-name.ts';
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
import { type Entry, isCall, isReconcile } from '../entry.ts';
import { isRequest } from '../groups.ts';
import { hasFailed } from '../query.ts';
import type { Request } from '../requests-of-clients.ts';

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
  /** The limit of the time, if somebody has set one. */
  budget?: number;
}

const texts = new WeakMap<Entry | Request, Words>();

export function wordsOf(shown: Entry | Request): Words {
  const known = texts.get(shown);
  if (known) return known;
  const words = isRequest(shown)
    ? ofRequest(shown)
    : isCall(shown)
      ? ofCall(shown)
      : isReconcile(shown)
        ? ofReconcile(shown)
        : ofReview(shown);
  const { said } = words;
  texts.set(shown, { ...words, said: said.filter(Boolean) });
  return texts.get(shown)!;
}

const VERDICT_TONES: Record<ReviewSummary['verdict'], Words['tone']> = {
  ...{ allowed: 'good', converted: 'good', denied: 'bad', failed: 'bad' },
  ...{ 'answered-by-devloop': 'doubtful', unanswered: 'doubtful' },
};

function ofReview(review: ReviewSummary): Words {
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
      verdict === 'allowed' ? '' : message,
      changesIn(review),
      prunedWords(review),
      warnings.length > 0 ? `warns: ${warnings.join('; ')}` : '',
      faults ? faultWords(faults) : '',
    ],
    ...{ ms: review.ms.total, budget: review.ms.budget },
  };
}

function ofCall(call: CallSummary): Words {
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
    ms: call.ms,
  };
}

const MOST_WRITES = 3;

function ofReconcile(reconcile: ReconcileSummary): Words {
  const { kind, namespace, name, controller, calls, error } = reconcile;
  const status = wordOf(reconcile);
  const cause = mainCause(reconcile);
  const isSaid = calls.some(({ message }) => message && error?.includes(message));
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
    said: [
      error === undefined || isSaid ? '' : withoutSubject(error, name, kind),
      writesIn(reconcile) || 'no write',
      cause ? `after: ${causeWords(cause, reconcile)}` : '',
    ],
    ms: reconcile.ms,
  };
}

function writesIn(reconcile: ReconcileSummary): string {
  const { calls } = reconcile;
  const more = calls.length > MOST_WRITES ? [`and ${calls.length - MOST_WRITES} more`] : [];
  return [...calls.slice(0, MOST_WRITES).map((call) => writeWords(call, reconcile)), ...more].join(', ');
}

/** The worst of what a request has below it decides. */
function ofRequest(request: Request): Words {
  const { reviews, reconciles, change } = request;
  const refused = reviews.find(hasFailed);
  const failed = reconciles.find((one) => wordOf(one) !== 'reconciled');
  const worst = refused ? ofReview(refused) : failed && ofReconcile(failed);
  const mutated = reviews.map((one) => changesIn(one)).filter(Boolean);
  const first = reviews[0];
  const ends = [
    ...reviews.map((one) => endMs(one, one.ms.total)),
    ...reconciles.map((one) => endMs(one, one.ms)),
  ];
  return {
    name: first ? subject(first) : nameOfChange(change!),
    status: worst?.status ?? (first ? first.verdict : change!.what),
    tone: worst?.tone ?? 'good',
    via: [count(reviews, 'review'), count(reconciles, 'reconcile')].filter(Boolean).join(', '),
    by: first ? byAnyUser(first.user).replace(/^by /, '') : (change!.by ?? ''),
    said: worst?.said ?? [
      mutated.length > 0 ? `mutated: ${mutated.join(' ')}` : '',
      change ? changesText(change).trim() : '',
      ...reconciles.map(writesIn),
    ],
    ms: Math.max(...ends, 0) - Date.parse(request.at),
  };
}

function nameOfChange({ what, ...object }: NonNullable<Request['change']>): string {
  return `${what} ${nameIn(object)}`;
}

function count(some: unknown[], noun: string): string {
  return some.length === 0 ? '' : counted(some.length, noun);
}

function endMs({ at }: { at: string }, ms: number): number {
  return Date.parse(at) + ms;
}

/** The object that an entry or a request is about, if it is about one. */
export function objectOf(shown: Entry | Request): ObjectName | undefined {
  if (isRequest(shown)) return shown.reviews[0] ? objectOf(shown.reviews[0]) : named(shown.change!);
  if (isCall(shown) || isReconcile(shown)) {
    const [plural] = isCall(shown) ? (shown.resource ?? '').split('/') : [''];
    return named({ kind: shown.kind ?? plural, namespace: shown.namespace, name: shown.name });
  }
  return named({ kind: shown.resource?.kind, ...shown.object });
}

function named({
  kind,
  namespace,
  name,
}: { [Key in keyof ObjectName]?: string | undefined }): ObjectName | undefined {
  if (!kind || !name || name.endsWith('*')) return undefined;
  return { kind, ...(namespace ? { namespace } : {}), name };
}

/** How much of a bar a time takes: each tenth of a bar means several times as much as the one before, so that 2 ms of 10 s can be seen. */
export function share(ms: number, limitMs: number): number {
  return Math.min(1, Math.log10(1 + Math.max(0, ms)) / Math.log10(1 + limitMs));
}
