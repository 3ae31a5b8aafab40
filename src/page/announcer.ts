import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import { nameIn, wordOf } from '../report/call-words.ts';
import { isLater, type ReviewSummary, type WaitingReview } from '../report/review.ts';
import { shortName, subject, withoutSubject } from '../report/review-words.ts';
import type { PageStatus, PageWarning } from './protocol.ts';
import { hasFailed } from './query.ts';

/** What of a session somebody should hear of. */
export interface Announced {
  reviews: ReviewSummary[];
  recorded: (CallSummary | ReconcileSummary)[];
  warnings: PageWarning[];
  waiting: WaitingReview[];
  status?: Pick<PageStatus, 'compiler' | 'state'> | undefined;
}

/** More at once are counted: a screen reader that read each of many aloud would never finish. */
const MOST = 3;
const LONGEST = 200;

/** Finds what went wrong since the last time, in words. What succeeds is silent. */
export class Announcer {
  #review: string | undefined;
  #reconcile = '';
  #warnings = new Set<string>();
  #compiler: string | undefined;
  #waits = false;

  next(now: Announced): string {
    const isFirst = this.#review === undefined;
    const said = [
      ...this.#builds(now),
      ...this.#warned(now),
      ...this.#waiting(now),
      ...this.#denied(now),
      ...this.#failed(now),
    ];
    if (isFirst) return '';
    const texts = said.slice(0, MOST).map((text) => text.slice(0, LONGEST));
    return [...texts, ...(said.length > MOST ? [`and ${said.length - MOST} more`] : [])].join('. ');
  }

  #denied({ reviews }: Announced): string[] {
    const before = this.#review ?? '';
    const fresh = reviews.filter(({ id }) => isLater(id, before));
    this.#review = fresh.at(-1)?.id ?? before;
    return fresh.filter(hasFailed).map((review) => {
      const { verdict, webhook, message = '', object, resource } = review;
      const why = withoutSubject(message, object?.name, resource?.kind);
      return `${verdict} by ${shortName(webhook)}: ${subject(review)}${why && `: ${why}`}`;
    });
  }

  #failed({ recorded }: Announced): string[] {
    const fresh = recorded.filter(
      (one): one is ReconcileSummary => 'result' in one && isLater(one.id, this.#reconcile),
    );
    this.#reconcile = fresh.at(-1)?.id ?? this.#reconcile;
    const texts = fresh
      .filter((one) => wordOf(one) !== 'reconciled')
      .map((one) => `reconcile ${wordOf(one)}: ${nameIn(one)}${one.error ? `: ${one.error}` : ''}`);
    // A controller tries again and again.
    return [...new Set(texts)];
  }

  #warned({ warnings }: Announced): string[] {
    const fresh = warnings.filter((one) => !this.#warnings.has(keyOf(one)));
    this.#warnings = new Set(warnings.map(keyOf));
    return fresh.map(({ message }) => `Warning: ${message}`);
  }

  #waiting({ waiting }: Announced): string[] {
    const [held] = waiting.filter(({ waitsFor }) => waitsFor === 'release');
    const isNew = held !== undefined && !this.#waits;
    this.#waits = held !== undefined;
    return isNew ? [`held: ${subject(held)}`] : [];
  }

  #builds({ status }: Announced): string[] {
    const { compiler } = status ?? {};
    const isNew = compiler !== undefined && compiler !== this.#compiler;
    this.#compiler = compiler;
    return isNew ? [`The build failed: ${compiler.trim().split('\n', 1)[0]}`] : [];
  }
}

/** A warning that is said again, as with a higher count, is no new one. */
function keyOf({ code, object, message }: PageWarning): string {
  return JSON.stringify([code, object ?? message]);
}
