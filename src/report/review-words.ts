import { counted, shortened } from '../phrases.ts';
import type {
  LateAnswer,
  PrunedField,
  ReviewSummary,
  ReviewTimes,
  WaitingReview,
  WaitsFor,
} from './review.ts';
import { duration, limitText } from './text.ts';

/** What a review is about: `CREATE Application default/web`. */
export function subject(review: ReviewSummary | WaitingReview): string {
  const { kind, operation, resource, object } = review;
  if (kind === 'unreadable') return `a request on ${review.path} that is not a review`;
  if (kind === 'conversion') return conversion(review);
  const text = joined(operation, ' ', resource?.kind);
  const named = joined(text, ' ', joined(object?.namespace, '/', object?.name));
  return review.dryRun ? joined(named, ' ', '(dry run)') : named;
}

function conversion({ resource, from = [], to, objects = 0 }: ReviewSummary | WaitingReview): string {
  return `${resource?.kind} ${from.join(', ')} -> ${to}, ${counted(objects, 'object')}`;
}

/** How the API server and its clients begin a message about one object, and what such a message asks of the reader. */
const SUBJECT =
  /^(?:Operation cannot be fulfilled on )?([A-Za-z0-9]+)(?:\.[\w.-]+)? "([^"]*)"(?:(?: is (?:invalid|forbidden))?: | (?=not found$|already exists$))/;
const ADVICE = '; please apply your changes to the latest version and try again';

/** A message in a row that names the object already. `kinds`: how the message can name its kind. */
export function withoutSubject(message: string, name = '', ...kinds: (string | undefined)[]): string {
  const [prefix = '', kind, object] = SUBJECT.exec(message) ?? [];
  if (object !== name || !kinds.includes(kind)) return message;
  return message.slice(prefix.length).replace(ADVICE, '');
}

/** Joins two texts, each of which may be missing or empty. */
function joined(text: string | undefined, separator: string, more: string | undefined): string {
  if (!text) return more ?? '';
  return more ? text + separator + more : text;
}

/** `vapplication` for `vapplication.kb.io`; several names are separated by a comma and a space. */
export function shortName(webhook: string): string {
  if (webhook.startsWith('/')) return webhook;
  const names = webhook.split(', ').map((name) => name.split('.', 1)[0]!);
  return [...new Set(names)].join(', ');
}

/** `10:15:02` in local time. `toTimeString` would take up most of the time that listing a thousand reviews needs. */
export function clock(at: string): string {
  const time = new Date(at);
  return `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}:${twoDigits(time.getSeconds())}`;
}

/** `10:15:02.114` in local time. */
export function clockMs(at: string): string {
  return `${clock(at)}.${String(new Date(at).getMilliseconds()).padStart(3, '0')}`;
}

function twoDigits(part: number): string {
  return part < 10 ? `0${part}` : `${part}`;
}

const LONGEST_USER = 30;

/** `by ann`, `by argocd/deployer`, `by replicaset-controller`; empty for the session's own account. */
export function byUser({ user, isOwnUser }: Pick<ReviewSummary, 'user' | 'isOwnUser'>): string {
  return isOwnUser ? '' : byAnyUser(user);
}

/** Like `byUser`, but for any account: in a list, all lines name the user. */
export function byAnyUser(user = ''): string {
  return user === ''
    ? ''
    : `by ${shortened(user.startsWith('system:') ? accountOf(user) : user, LONGEST_USER)}`;
}

function accountOf(user: string): string {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):(.+)$/.exec(user) ?? [];
  if (account === undefined) return user.slice('system:'.length);
  return namespace === 'kube-system' ? account : `${namespace}/${account}`;
}

/** `7 ms of 10 s`: how long it took, of how long the caller waits. */
export function timeOf({ ms }: { ms: Pick<ReviewTimes, 'total' | 'budget'> }): string {
  return `${duration(ms.total)} of ${limitText(ms.budget)}`;
}

/** Like `timeOf`, but it names the limit only if the time came close to it. */
export function shortTimeOf({ ms }: { ms: Pick<ReviewTimes, 'total' | 'budget'> }): string {
  return ms.total * 2 >= ms.budget ? timeOf({ ms }) : duration(ms.total);
}

/** `pruned: spec.colour is not in the cluster's CRD`; empty if nothing was. */
export function prunedWords({ pruned = [] }: Pick<ReviewSummary, 'pruned'>): string {
  const texts = Object.entries(PRUNED).flatMap(([why, words]) => {
    const fields = pruned.filter((one) => one.why === why).map(({ field }) => field);
    return fields.length === 0 ? [] : `${fields.join(', ')} ${words[fields.length === 1 ? 0 : 1]}`;
  });
  return texts.length === 0 ? '' : `pruned: ${texts.join('; ')}`;
}

const PRUNED: Record<PrunedField['why'], [one: string, several: string]> = {
  'not-in-crd': ["is not in the cluster's CRD", "are not in the cluster's CRD"],
  'status-subresource': [
    'is only written through the status subresource',
    'are only written through the status subresource',
  ],
};

const MOST_CHANGES = 4;

/** The first changes of a patch, and how many more it makes; with `most` 0, only their number. */
export function changesIn(
  { patch = [], changes = patch.length }: Pick<ReviewSummary, 'patch' | 'changes'>,
  most = MOST_CHANGES,
): string {
  if (most === 0) return counted(changes, 'change');
  const more = changes > most ? ` and ${changes - most} more` : '';
  return patch.slice(0, most).join(' ') + more;
}

/** What the controller answered after devloop had answered. */
export function lateWords(late: LateAnswer): string {
  const { verdict, message, totalMs } = late;
  const said = verdict === 'allowed' ? '' : (message ?? '');
  const text = [`the controller answered ${verdict} after ${duration(totalMs)}`, said, changesIn(late)];
  return text.filter(Boolean).join('  ');
}

/** What a review without an answer waits for. */
export const WAITS: Record<WaitsFor, string> = {
  release: 'held',
  connection: 'not yet accepted by the controller',
  answer: 'at the controller',
};
