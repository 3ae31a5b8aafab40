import type { ReviewTimes, WaitsFor } from '../report/review.ts';
import type { Answer } from './http.ts';
import type { OnTimeout } from './unanswered.ts';

/** What a session does with each review. These are called while it waits, so they must return quickly. */
export interface ReviewHooks {
  /** Called with each review that devloop does not answer itself, when it has arrived. The result is disposed when there is an answer. */
  arrived?(review: ArrivedReview): Disposable;
  /** Called with the same reviews when their answers are sent. */
  served?(review: ServedReview): void;
  /** Called with the controller's answers that come after devloop's; if absent, devloop does not wait for them. */
  late?: ((late: LateAnswer) => void) | undefined;
  /** The warnings that are added to the controller's answer to an admission review; without any, it is passed on unchanged. */
  stamps?(review: Buffer): string[];
  /** What goes wrong on purpose with a review that devloop does not answer itself; undefined in most cases. */
  fault?: ((review: Pick<ArrivedReview, 'url' | 'body'>) => ReviewFault | undefined) | undefined;
  /** The answer to reviews that the controller does not answer in time; by default an error. */
  onTimeout?: OnTimeout;
  /** Where a debugger has stopped the controller, if it has. */
  stoppedAt?(): string | undefined;
}

export interface ReviewFault {
  /** The rules that it meets, as they are written. */
  by: string[];
  delayMs: number;
  /** The status code with which it fails; absent if it is only delayed. */
  code?: 404 | 500 | 503;
}

/** A review without an answer yet. */
export interface ArrivedReview {
  url: string;
  /** The port on which the manager listens for it in its Pod. */
  port: number;
  /** When it arrived, in ms since 1970. */
  at: number;
  body: Buffer;
  readonly waitsFor: WaitsFor;
}

/** A review and its answer. */
export interface ServedReview extends Omit<ArrivedReview, 'waitsFor'> {
  /** Absent if the client disconnected before it got an answer. */
  answer: Answer | undefined;
  /** The rules of faults that it met. */
  faults?: string[] | undefined;
  ms: ReviewTimes;
}

/** An answer that the controller gave after devloop had answered in its place. */
export interface LateAnswer {
  /** The review as it was passed to `served`. */
  review: ServedReview;
  answer: Answer;
  /** The time since the review arrived, in ms. */
  totalMs: number;
}
