import type { DevloopEvent } from '../report/events.ts';

type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;
type Work = Of<'review'> | Of<'reconcile'>;

/** How many denials and failures are kept. */
const MOST_BAD = 10;
const NO_VERDICT: Of<'review'>['verdict'][] = ['failed', 'answered-by-devloop', 'unanswered'];

/** What the local code does between `begin` and `end`. Some of it is reported later. */
export class Tally {
  readonly counts: Pick<Of<'test.done'>, 'reviews' | 'reconciles'> = {
    reviews: { all: 0, denied: 0, failed: 0 },
    reconciles: { all: 0, failed: 0 },
  };
  readonly #bad = new Map<string, Work>();
  #from: Date | undefined;
  #to: Date | undefined;

  /** Of what was denied or failed the first ones, each only once. */
  get bad(): Work[] {
    return [...this.#bad.values()];
  }

  begin(): void {
    this.#from = new Date();
  }

  end(): void {
    this.#to = new Date();
  }

  observe(event: DevloopEvent): void {
    if (!isWork(event) || !this.#isDuring(new Date(event.at))) return;
    const { reviews, reconciles } = this.counts;
    if (event.type === 'review') {
      reviews.all += 1;
      if (event.verdict === 'denied') reviews.denied += 1;
      if (NO_VERDICT.includes(event.verdict)) reviews.failed += 1;
    } else {
      reconciles.all += 1;
      if (isBad(event)) reconciles.failed += 1;
    }
    if (isBad(event) && this.#bad.size < MOST_BAD) this.#bad.set(identityOf(event), event);
  }

  #isDuring(at: Date): boolean {
    return this.#from !== undefined && at >= this.#from && (this.#to === undefined || at <= this.#to);
  }
}

export function isWork(event: DevloopEvent): event is Work {
  return event.type === 'review' || event.type === 'reconcile';
}

function isBad(one: Work): boolean {
  if (one.type === 'review') return one.verdict === 'denied' || NO_VERDICT.includes(one.verdict);
  return one.result === 'error' || one.result === 'panic';
}

/** The same denial or failure again is no news. */
function identityOf(one: Work): string {
  if (one.type === 'reconcile') return JSON.stringify([one.controller, one.namespace, one.name, one.error]);
  const { operation, webhook, object, message } = one;
  return JSON.stringify([operation, webhook, object, message]);
}
