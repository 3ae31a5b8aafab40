import { createTally, createWarner, type Warning } from '../async.ts';
import { Backlog } from '../backlog.ts';
import type { PathStep } from '../config/json-path.ts';
import { messageOf } from '../errors.ts';
import type { ArrivedReview, LateAnswer, ServedReview } from '../gateway/hooks.ts';
import { dateOf } from '../machine/elapsed.ts';
import type { CrdFields } from '../operator/crd-fields.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { WaitingReview } from '../report/review.ts';
import type { Answering, AnsweringBuild } from './answering-build.ts';
import type { NamedCall } from './names.ts';
import { type LateRecord, type ReviewRecord, summaryOf } from './record.ts';
import type { Recording } from './recording.ts';
import { recordOf, waitingOf } from './summarize.ts';

/** The limit for the reviews that wait to be recorded, in bytes. Above it, new reviews are not recorded. */
const MOST_WAITING = 32 * 2 ** 20;
/** Reviews that are answered sooner, as most are, are not shown as waiting: they would disappear before anybody could read them. */
const LEAST_WAITED_MS = 250;
/** The limit for the waiting reviews that are shown: nobody reads more. */
const MOST_SHOWN = 100;
/** How many bytes of waiting reviews are parsed at a time; of the others, only the path is shown until the next time. */
const MOST_PARSED = 2 * 2 ** 20;

/** The reviews without an answer, the oldest first, and the id of the last recorded one. */
export interface WaitingReviews {
  reviews: WaitingReview[];
  last: string;
}

export interface RecorderOptions {
  answering: Answering;
  /** The fields that the user wants replaced. */
  paths?: PathStep[][];
  /** Whether a user is the account of the session. */
  isOwn?: (user: string) => boolean;
  /** Called with each record. */
  onRecord?: (record: ReviewRecord) => void;
}

/** Records reviews after they were answered: each becomes an event and a line of the recording. */
export class Recorder implements AsyncDisposable {
  #recording: Recording;
  #emit: Emit;
  #warn: (warning: Warning) => void;
  #answering: Answering;
  #paths: PathStep[][];
  #isOwn: (user: string) => boolean;
  #onRecord: (record: ReviewRecord) => void;
  #backlog: Backlog<{ review: ServedReview; by: AnsweringBuild }>;
  #arrived = new Set<ArrivedReview>();
  #facts = new WeakMap<ArrivedReview | ServedReview, WaitingReview>();
  #last = 0;
  #ids = new WeakMap<ServedReview, string>();
  /** Late answers to reviews that are not recorded yet. */
  #late = new Map<ServedReview, LateAnswer>();
  #calls: NamedCall[] = [];
  #crds: CrdFields[] = [];
  #written = Promise.resolve();

  constructor(
    recording: Recording,
    { answering, paths = [], isOwn = () => false, onRecord = () => {} }: RecorderOptions,
    emit: Emit,
  ) {
    this.#recording = recording;
    this.#answering = answering;
    this.#paths = paths;
    this.#isOwn = isOwn;
    this.#onRecord = onRecord;
    this.#emit = emit;
    this.#warn = createWarner(emit);
    const missed = createTally((reviews) => emit(notice('reviews.not-listed', { reviews })));
    this.#backlog = new Backlog({
      mostBytes: MOST_WAITING,
      sizeOf: ({ review }) => review.body.length + (review.answer?.body.length ?? 0),
      work: ({ review, by }) => this.#record(review, by),
      onSlice: (dropped) => {
        missed(dropped);
        this.#flush();
      },
    });
  }

  /** Called for each review when it has arrived; the result is disposed when it has an answer. Only notes the review. */
  arrived = (review: ArrivedReview): Disposable => {
    this.#arrived.add(review);
    this.#backlog.busy();
    return { [Symbol.dispose]: () => void this.#arrived.delete(review) };
  };

  /** The reviews that wait at this moment. A review that has waited stays among them until it is recorded, so that it is never missing. */
  waiting(): WaitingReviews {
    const now = dateOf();
    // Short waits are filtered out first: this runs again and again, and nearly all reviews wait for less time.
    const answered = this.#backlog.items
      .filter(({ review }) => review.ms.total >= LEAST_WAITED_MS)
      .map(({ review }) => ({ review, waitsFor: 'answer', total: review.ms.total }) as const);
    const open = [...this.#arrived]
      .filter(({ at }) => now - at >= LEAST_WAITED_MS)
      .map((review) => ({ review, waitsFor: review.waitsFor, total: now - review.at }));
    const long = [...answered, ...open].slice(0, MOST_SHOWN);
    let parsed = 0;
    const reviews = long.map(({ review, waitsFor, total }) => {
      const isNew = !this.#facts.has(review);
      const { ms, ...facts } = this.#factsOf(review, isNew && parsed >= MOST_PARSED);
      parsed += isNew ? review.body.length : 0;
      return { ...facts, waitsFor, ms: { ...ms, total } };
    });
    return { reviews, last: this.#last === 0 ? '' : idOf(this.#last) };
  }

  /** Called for each review when its answer is sent. Only notes the review. */
  served = (review: ServedReview): void => {
    this.#backlog.push({ review, by: this.#answering.now() });
  };

  /** Called when the controller answers a review that devloop has already answered. */
  late = (late: LateAnswer): void => {
    if (this.#ids.has(late.review)) this.#recordLate(late);
    else if (this.#backlog.items.some(({ review }) => review === late.review))
      this.#late.set(late.review, late);
  };

  /** Sets the webhooks that call the Services now. */
  name(calls: NamedCall[]): void {
    this.#calls = calls;
  }

  /** Sets the CRDs of the objects that the webhooks review. */
  define(crds: CrdFields[]): void {
    this.#crds = crds;
  }

  /** Resolves when each review that was listed can be read from the recording. */
  async written(): Promise<void> {
    await this.#written;
  }

  /** Resolves when each review that has an answer by now can be read from the recording. Does not wait for the next slice. */
  async caughtUp(): Promise<void> {
    await this.#backlog.caughtUp();
    await this.#written;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#backlog[Symbol.asyncDispose]();
    await this.#written;
  }

  /** Parses each review only once, since somebody may look at the review again and again. */
  #factsOf(review: ArrivedReview | ServedReview, isLater: boolean): WaitingReview {
    const known = this.#facts.get(review);
    if (known) return known;
    const { url, port, at, body, waitsFor = 'release' } = { waitsFor: undefined, ...review };
    const read = isLater ? Buffer.alloc(0) : body;
    const context = { calls: this.#calls, paths: this.#paths };
    const facts = waitingOf({ url, port, at, body: read, waitsFor }, context);
    if (!isLater) this.#facts.set(review, facts);
    return facts;
  }

  #flush(): void {
    this.#written = this.#recording
      .flush()
      .catch((error) => this.#warn(notice('reviews.not-recorded', { cause: messageOf(error) })));
  }

  #record(review: ServedReview, by: AnsweringBuild): void {
    this.#last += 1;
    const id = idOf(this.#last);
    const recorded = recordOf(review, { id, calls: this.#calls, paths: this.#paths, crds: this.#crds });
    // An answer of devloop itself belongs to no build.
    const isControllers = !['answered-by-devloop', 'unanswered'].includes(recorded.verdict);
    const own = this.#isOwn(recorded.user ?? '') ? { isOwnUser: true as const } : {};
    const record = { ...recorded, ...own, ...(isControllers ? by : {}) };
    this.#emit({ type: 'review', ...summaryOf(record) });
    this.#recording.add(record);
    this.#onRecord(record);
    this.#ids.set(review, id);
    const late = this.#late.get(review);
    this.#late.delete(review);
    if (late) this.#recordLate(late);
  }

  /** Adds another line with the same id to the recording. */
  #recordLate({ review, answer, totalMs }: LateAnswer): void {
    const id = this.#ids.get(review)!;
    const context = { id, calls: this.#calls, paths: this.#paths };
    const record = recordOf({ ...review, answer }, context);
    const { v, response, verdict, code, message, warnings, patch, changes } = record;
    const said = { verdict, code, message, warnings, patch, changes, totalMs: Math.round(totalMs) };
    // Drops fields that are undefined.
    const late = JSON.parse(JSON.stringify(said)) as LateRecord['late'];
    this.#emit({ type: 'review.late', id, late });
    this.#recording.add({ v, id, late, lateResponse: response });
    this.#backlog.wake();
  }
}

function idOf(number: number): string {
  return `r-${String(number).padStart(6, '0')}`;
}
