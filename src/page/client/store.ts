import { useLayoutEffect, useState } from 'preact/hooks';
import type { CallSummary, ReconcileSummary } from '../../report/call.ts';
import type { FaultSummary } from '../../report/fault.ts';
import { isLater, type LateReview, type ReviewSummary, type WaitingReview } from '../../report/review.ts';
import { type Entry, isCall } from '../entry.ts';
import { type Group, groupsOf, hasIn, isOwnRow } from '../groups.ts';
import { type Listed, listed } from '../listed.ts';
import type { PageStatus, PageWarning } from '../protocol.ts';
import { parseQuery, type Query } from '../query.ts';
import { type ListedFault, ListedFaults } from './listed-faults.ts';

/** As many reviews, and as many calls and reconciles, as a session keeps. */
const MOST = 5_000;
/** Grouping thousands of entries takes longer than a frame, so it rests this many times as long as it took. */
const REST = 4;

type Recorded = CallSummary | ReconcileSummary;
export type Connection = 'connecting' | 'open' | 'lost' | 'ended' | 'refused';

/** What the page knows, and which part of it is shown. Views are drawn once a frame at most, however much changes. */
export class Store {
  status: PageStatus | undefined;
  connection: Connection = 'connecting';
  /** Whether all earlier entries have arrived. */
  isRead = false;
  /** Why the last action that was asked for failed. */
  problem: string | undefined;
  /** In the order of their ids. */
  reviews: ReviewSummary[] = [];
  /** Calls and reconciles, in the order in which they arrived. */
  recorded: Recorded[] = [];
  /** The reviews without an answer, oldest first. */
  waiting: WaitingReview[] = [];
  warnings: PageWarning[] = [];
  faults: FaultSummary[] = [];
  queryText = '';
  query: Query = parseQuery('');
  /** What is shown beside the list: an entry or a request by its id, or another pane. */
  openId: string | undefined;
  /** The entry or request that was open last, where keys go on. */
  lastId: string | undefined;
  /** Whether the list shows what arrives. It does not while somebody reads. */
  isFollowing = true;
  /** When the newest line began that was there when somebody began to read; empty if all that arrives is shown. */
  readTo = '';
  /** The lines that began until then are not shown: somebody wants to see only what follows. */
  clearedTo = '';
  #faults = new ListedFaults();
  /** Which groups somebody has opened or closed, without a filter and with the one that there is. */
  #chosen = new Map<string, boolean>();
  #chosenInFound = new Map<string, boolean>();
  #groups: Group[] | undefined;
  #listed: Listed | undefined;
  #last = { call: '', reconcile: '' };
  #views = new Set<() => void>();
  #isDrawing = false;
  #restMs = 0;

  constructor() {
    this.readAddress();
    addEventListener('popstate', () => this.readAddress());
  }

  /** Reads the filter and what is open from the page's address. */
  readAddress(): void {
    const parameters = new URLSearchParams(location.search);
    this.openId = parameters.get('open') ?? undefined;
    if (isOfList(this.openId)) this.isFollowing = false;
    this.#find(parameters.get('q') ?? '');
  }

  get list(): Listed {
    if (this.#listed) return this.#listed;
    const began = performance.now();
    this.#groups ??= groupsOf(this.reviews, this.recorded);
    const groups = this.#groups;
    this.#showOpen(groups);
    const shown = this.clearedTo === '' ? groups : groups.filter(({ head }) => head.at > this.clearedTo);
    this.#listed = listed(shown, this.query, (id) => this.#choices.get(id));
    if (!this.isFollowing && this.readTo === '' && this.isRead) this.readTo = this.#newest();
    this.#restMs = REST * (performance.now() - began);
    return this.#listed;
  }

  /** Hides all that is listed now, or shows it again. */
  clear(isCleared: boolean): void {
    this.clearedTo = isCleared ? this.#newest() : '';
    this.#listed = undefined;
    if (isCleared) this.follow(true);
    this.#changed();
  }

  /** When the last line of the list began. */
  #newest(): string {
    return this.#groups?.at(-1)?.head.at ?? '';
  }

  get #choices(): Map<string, boolean> {
    return this.queryText === '' ? this.#chosen : this.#chosenInFound;
  }

  set<K extends 'status' | 'waiting' | 'problem' | 'warnings' | 'faults'>(key: K, value: Store[K]): void {
    Object.assign(this, { [key]: value });
    this.#changed();
  }

  get listedFaults(): ListedFault[] {
    return this.#faults.of(this.faults);
  }

  /** The rule of a fault that was switched off stays, so that it can be switched on again. */
  setFaultOff(fault: ListedFault): void {
    this.#faults.setOff(fault);
    this.#changed();
  }

  removeFault(key: string): void {
    this.#faults.remove(key);
    this.#changed();
  }

  connect(connection: Connection): void {
    this.connection = connection;
    // What became of the waiting reviews is not known.
    if (connection === 'lost' || connection === 'ended') this.waiting = [];
    this.#changed();
  }

  /** Adds new reviews. An empty list means that everything earlier has arrived. */
  add(reviews: ReviewSummary[]): void {
    const last = this.reviews.at(-1)?.id ?? '';
    const fresh = reviews.filter(({ id }) => isLater(id, last));
    this.isRead ||= reviews.length === 0;
    this.reviews.push(...fresh);
    this.#arrived();
  }

  addCalls(recorded: Recorded[]): void {
    const fresh = recorded.filter((one) => {
      const which = isCall(one) ? 'call' : 'reconcile';
      const isNew = isLater(one.id, this.#last[which]);
      if (isNew) this.#last[which] = one.id;
      return isNew;
    });
    this.recorded.push(...fresh);
    this.#arrived();
  }

  /** Adds late answers to reviews that are already here. */
  addLate(answers: LateReview[]): void {
    for (const { id, late } of answers) {
      const at = this.reviews.findLastIndex((one) => one.id === id);
      if (at >= 0) this.reviews[at] = { ...this.reviews[at]!, late };
    }
    this.#regroup();
  }

  find(text: string): void {
    this.#find(text);
    history.replaceState(null, '', this.#address());
  }

  /** Shows something beside the list, or nothing. */
  open(id: string | undefined): void {
    if (id === this.openId) return;
    this.openId = id;
    if (isOfList(id)) {
      this.lastId = id;
      this.follow(false);
    }
    // The row can be in a group that is closed.
    this.#listed = undefined;
    history.pushState(null, '', this.#address());
    this.#changed();
  }

  close(): void {
    this.open(undefined);
  }

  /** Shows or hides what is below the head of a group. */
  toggle(id: string, isOpen: boolean): void {
    this.#choices.set(id, isOpen);
    this.#listed = undefined;
    this.#changed();
  }

  follow(isFollowing: boolean): void {
    if (isFollowing === this.isFollowing) return;
    this.isFollowing = isFollowing;
    this.readTo = isFollowing ? '' : this.#newest();
    this.#changed();
  }

  /** The entry with this id, if it is here. */
  entry(id: string): Entry | undefined {
    const some: Entry[] = id.startsWith('r-') ? this.reviews : this.recorded;
    return some.findLast((one) => one.id === id);
  }

  /** The call that caused the review with this uid. */
  callWith(uid: string): CallSummary | undefined {
    return this.recorded.findLast(
      (one): one is CallSummary => isCall(one) && one.reviews?.includes(uid) === true,
    );
  }

  /** The group that has this entry, or that is headed by this request. */
  groupOf(id: string): Group | undefined {
    void this.list;
    return this.#groups?.findLast((group) => hasIn(group, id));
  }

  subscribe(view: () => void): () => void {
    this.#views.add(view);
    return () => this.#views.delete(view);
  }

  /** Opens the group of what is open, unless somebody has closed it. */
  #showOpen(groups: Group[]): void {
    const id = this.openId;
    if (id === undefined || !/^[rck]-/.test(id)) return;
    const group = groups.find((one) => one.below.length > 0 && hasIn(one, id));
    if (group && !isOwnRow(group, id) && !this.#choices.has(group.head.id))
      this.#choices.set(group.head.id, true);
  }

  #arrived(): void {
    this.reviews.splice(0, Math.max(0, this.reviews.length - MOST));
    this.recorded.splice(0, Math.max(0, this.recorded.length - MOST));
    this.#regroup();
  }

  #regroup(): void {
    this.#groups = undefined;
    this.#listed = undefined;
    this.#changed(this.#restMs);
  }

  #find(text: string): void {
    this.queryText = text;
    this.query = parseQuery(text);
    this.#listed = undefined;
    this.#chosenInFound.clear();
    this.#changed();
  }

  #address(): string {
    const parameters = new URLSearchParams();
    if (this.queryText !== '') parameters.set('q', this.queryText);
    if (this.openId !== undefined) parameters.set('open', this.openId);
    const search = parameters.toString();
    return location.pathname + (search === '' ? '' : `?${search}`);
  }

  #changed(restMs = 0): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    const draw = (): void => {
      this.#isDrawing = false;
      for (const view of this.#views) view();
    };
    if (restMs < 16) requestAnimationFrame(draw);
    else setTimeout(() => requestAnimationFrame(draw), restMs);
  }
}

/** Whether this is the id of an entry or a request, and not that of another pane. */
function isOfList(id: string | undefined): boolean {
  return id !== undefined && /^[rckg]-/.test(id);
}

/** Draws the component again whenever the store changes, also if that is before the browser draws it first. */
export function useStore(store: Store): Store {
  const [, draw] = useState(0);
  useLayoutEffect(() => store.subscribe(() => draw((count) => count + 1)), [store]);
  return store;
}
