import { counted } from '../phrases.ts';
import type { LateAnswer, ReviewSummary, WaitingReview, WaitsFor } from './review.ts';
import { duration } from './text.ts';

/** What a review is about: `CREATE Application default/web`. */
export function subject({
  kind,
  operation,
  resource,
  object,
  dryRun,
  from = [],
  to,
  objects = 0,
  path,
}: ReviewSummary | WaitingReview): string {
  if (kind === 'unreadable') return `a request on ${path} that is not a review`;
  if (kind === 'conversion')
    return `${resource?.kind} ${from.join(', ')} -> ${to}, ${counted(objects, 'object')}`;
  const name = [object?.namespace, object?.name].filter(Boolean).join('/');
  return [operation, resource?.kind, name, dryRun ? '(dry run)' : ''].filter(Boolean).join(' ');
}

/** `vapplication` for `vapplication.kb.io`. */
export function shortName(webhook: string): string {
  return webhook.startsWith('/') ? webhook : webhook.split('.', 1)[0]!;
}

/** What the controller answered after devloop had. */
export function lateWords({ verdict, message, patch = [], totalMs }: LateAnswer): string {
  const said = verdict === 'allowed' ? '' : (message ?? '');
  const text = [`the controller answered ${verdict} after ${duration(totalMs)}`, said, ...patch];
  return text.filter(Boolean).join('  ');
}

/** What a review without an answer waits for. */
export const WAITS: Record<WaitsFor, string> = {
  release: 'held',
  connection: 'until the controller accepts it',
  answer: 'at the controller',
};
