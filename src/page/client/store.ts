import { useEffect, useState } from 'preact/hooks';
import { isLater, type LateReview, type ReviewSummary, type WaitingReview } from '../../report/review.ts';
import type { PageStatus } from '../protocol.ts';
import { matches, parseQuery, type Query } from '../query.ts';

/** As many reviews as a session keeps. */
const MOST_REVIEWS = 5_000;

export type Connection = 'connecting' | 'open' | 'lost' | 'refused';

/** What the page knows, and which part of it is shown. Views are drawn once a frame, however much changes. */
export class Store {
  status: PageStatus | undefined;
  connection: Connection = 'connecting';
  /** Whether all earlier reviews have arrived. */
  isRead = false;
  /** Why the last action that was asked for failed. */
  problem: string | undefined;
  /** All reviews that arrived, oldest first. */
  reviews: ReviewSummary[] = [];
  /** The reviews without an answer, oldest first. */
  waiting: WaitingReview[] = [];
  /** The reviews that the query selects, oldest first. */
  matching: ReviewSummary[] = [];
  queryText = '';
  query: Query = parseQuery('');
  selectedId: string | undefined;
  /** Reviews after this one are not shown yet, because the user is reading. */
  pausedAt: string | undefined;
  #views = new Set<() => void>();
  #isDrawing = false;

  constructor() {
    this.readAddress();
    addEventListener('popstate', () => this.readAddress());
  }

  /** Reads the filter and the open review from the page's address. */
  readAddress(): void {
    const parameters = new URLSearchParams(location.search);
    this.selectedId = parameters.get('review') ?? undefined;
    this.#find(parameters.get('q') ?? '');
  }

  set<K extends 'status' | 'waiting' | 'problem'>(key: K, value: Store[K]): void {
    Object.assign(this, { [key]: value });
    this.#changed();
  }

  connect(connection: Connection): void {
    this.connection = connection;
    // What became of the waiting reviews is not known.
    if (connection === 'lost') this.waiting = [];
    this.#changed();
  }

  /** Adds new reviews. An empty list means that all earlier ones have arrived. */
  add(reviews: ReviewSummary[]): void {
    const last = this.reviews.at(-1)?.id ?? '';
    const fresh = reviews.filter(({ id }) => isLater(id, last));
    this.isRead ||= reviews.length === 0;
    this.reviews.push(...fresh);
    this.matching.push(...fresh.filter((one) => matches(this.query, one)));
    const spare = this.reviews.length - MOST_REVIEWS;
    if (spare > 0) {
      this.reviews.splice(0, spare);
      const first = this.reviews[0]!.id;
      this.matching.splice(0, this.matching.findIndex(({ id }) => !isLater(first, id)) >>> 0);
    }
    this.#changed();
  }

  /** Adds late answers to reviews that are already here. */
  addLate(answers: LateReview[]): void {
    for (const { id, late } of answers) {
      const review = this.reviews.findLast((one) => one.id === id);
      if (review) review.late = late;
    }
    this.#changed();
  }

  find(text: string): void {
    this.#find(text);
    history.replaceState(null, '', this.#address());
  }

  select(id: string | undefined): void {
    if (id === this.selectedId) return;
    this.selectedId = id;
    if (id !== undefined) this.pause(true);
    history.pushState(null, '', this.#address());
    this.#changed();
  }

  pause(isPaused: boolean): void {
    if (isPaused === (this.pausedAt !== undefined)) return;
    this.pausedAt = isPaused ? (this.reviews.at(-1)?.id ?? '') : undefined;
    this.#changed();
  }

  /** How many of the matching reviews are shown; the others arrived after the user began to read. */
  get shownCount(): number {
    const { pausedAt, matching } = this;
    if (pausedAt === undefined) return matching.length;
    let count = matching.length;
    while (count > 0 && isLater(matching[count - 1]!.id, pausedAt)) count--;
    return count;
  }

  subscribe(view: () => void): () => void {
    this.#views.add(view);
    return () => this.#views.delete(view);
  }

  #find(text: string): void {
    this.queryText = text;
    this.query = parseQuery(text);
    this.matching = this.reviews.filter((one) => matches(this.query, one));
    this.#changed();
  }

  #address(): string {
    const parameters = new URLSearchParams();
    if (this.queryText !== '') parameters.set('q', this.queryText);
    if (this.selectedId !== undefined) parameters.set('review', this.selectedId);
    const search = parameters.toString();
    return location.pathname + (search === '' ? '' : `?${search}`);
  }

  #changed(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      for (const view of this.#views) view();
    });
  }
}

/** Draws the component again whenever the store changes. */
export function useStore(store: Store): Store {
  const [, draw] = useState(0);
  useEffect(() => store.subscribe(() => draw((count) => count + 1)), [store]);
  return store;
}
