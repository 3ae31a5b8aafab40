import { counted } from '../../phrases.ts';
import { hasFailed as hasCallFailed, type ReconcileCall, type ReconcileSummary } from '../../report/call.ts';
import { changesText, nameIn, wordOf, writeWords } from '../../report/call-words.ts';
import { byAnyUser, changesIn, subject } from '../../report/review-words.ts';
import { hasFailed } from '../query.ts';
import type { Request } from '../requests-of-clients.ts';
import {
  errorIn,
  isInjected,
  MOST_WRITES,
  ofReconcile,
  ofReview,
  type Words,
  writesOf,
} from './entry-words.ts';

/** A review that refused it decides, or else the last attempt of each controller. */
export function ofRequest(request: Request): Words {
  const { reviews, change } = request;
  const refused = reviews.find(hasFailed);
  const attempts = attemptsOf(request);
  const failed = attempts.find(({ last }) => wordOf(last) !== 'reconciled');
  const first = reviews[0];
  const worst = refused ? ofReview(refused) : failed && ofReconcile(failed.last);
  return {
    name: first ? subject(first) : nameOfChange(change!),
    status: refused
      ? refused.verdict
      : failed
        ? `reconcile ${wordOf(failed.last)}`
        : (first?.verdict ?? change!.what),
    tone: worst?.tone ?? 'good',
    via: [count(reviews, 'review'), count(request.reconciles, 'reconcile')].filter(Boolean).join(', '),
    by: first ? byAnyUser(first.user).replace(/^by /, '') : (change!.by ?? ''),
    said: refused ? ofReview(refused).said : saidOf(request, attempts),
    ...(request.reconciles.some(isInjected) || reviews.some(isInjected) ? { isInjected: true } : {}),
    ms: endOf(request) - Date.parse(request.at),
  };
}

/** What one controller did after a request. */
interface Attempts {
  controller: string;
  all: ReconcileSummary[];
  last: ReconcileSummary;
}

function attemptsOf({ reconciles }: Request): Attempts[] {
  const all = Map.groupBy(reconciles, ({ controller }) => controller);
  return [...all].map(([controller, some]) => ({ controller, all: some, last: some.at(-1)! }));
}

function saidOf({ reviews, change }: Request, attempts: Attempts[]): string[] {
  const mutated = reviews.map((one) => changesIn(one)).filter(Boolean);
  const said = attempts.map(attemptsText);
  return [
    ...said.filter((_, at) => wordOf(attempts[at]!.last) !== 'reconciled'),
    mutated.length > 0 ? `mutated: ${mutated.join(' ')}` : '',
    change ? changesText(change).trim() : '',
    ...said.filter((_, at) => wordOf(attempts[at]!.last) === 'reconciled'),
  ];
}

/** `application: failed 2 times, then created Deployment web, ~status.ready=true` */
function attemptsText({ controller, all, last }: Attempts): string {
  const failures = all.filter((one) => wordOf(one) !== 'reconciled').length;
  const times = failures === 1 ? 'once' : `${failures} times`;
  if (wordOf(last) !== 'reconciled') {
    const often = all.length === 1 ? '' : `${wordOf(last)} ${times}, the last time with: `;
    return `${controller}: ${often}${errorIn(last) || writesOf(last) || wordOf(last)}`;
  }
  const done = all.flatMap((one) => changingCalls(one).map((call) => writeWords(call, one)));
  const more = done.length > MOST_WRITES ? [`and ${done.length - MOST_WRITES} more`] : [];
  const wrote = [...done.slice(0, MOST_WRITES), ...more].join(', ') || 'no change';
  return `${controller}: ${failures > 0 ? `failed ${times}, then ` : ''}${wrote}`;
}

function changingCalls({ calls }: ReconcileSummary): ReconcileCall[] {
  return calls.filter((call) => !hasCallFailed(call) && !call.isUnchanged);
}

/** For its client, it ends with its reviews. Without any, it is known only by what followed. */
function endOf({ reviews, reconciles }: Request): number {
  const ends = reviews.map((one) => Date.parse(one.at) + one.ms.total);
  const all = ends.length > 0 ? ends : reconciles.map((one) => Date.parse(one.at) + one.ms);
  return Math.max(...all, 0);
}

/** When the last of what followed it had ended, in milliseconds since 1970. */
export function followedUntil(request: Request): number {
  const ends = request.reconciles.map((one) => Date.parse(one.at) + one.ms);
  return Math.max(endOf(request), ...ends);
}

function nameOfChange({ what, ...object }: NonNullable<Request['change']>): string {
  return `${what} ${nameIn(object)}`;
}

function count(some: unknown[], noun: string): string {
  return some.length === 0 ? '' : counted(some.length, noun);
}
