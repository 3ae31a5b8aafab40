import type {
  AlikeReview,
  LateAnswer,
  ReviewCause,
  ReviewSection,
  ReviewSummary,
  WaitingReview,
} from '../review.ts';

/** Reviews, as they are answered and as they are recorded. */
export type ReviewEvent =
  /** A review that was answered, or whose client is gone. */
  | ({ type: 'review' } & ReviewSummary)
  /** What the controller answered to a review that devloop had already answered, because the budget was used up. */
  | { type: 'review.late'; id: string; late: LateAnswer }
  /** The result of `devloop reviews list`: each event is one review, oldest first. */
  | { type: 'reviews.listed'; review: ReviewSummary }
  /** `devloop reviews list`: a review that has no answer yet, because it is held or is waiting for the controller. */
  | { type: 'reviews.waiting'; review: WaitingReview }
  /** A saved set of the checkout, in `file`. `devloop reviews verify` without a name lists all sets, and then ends with an `error`. */
  | { type: 'reviews.set'; name: string; file: string; reviews: number }
  /** The result of `devloop reviews show`: one review, with its objects and its answer as `sections`. `cause`: the controller's own call. */
  | { type: 'reviews.shown'; review: ReviewSummary; sections: ReviewSection[]; cause?: ReviewCause }
  /**
   * A recorded review that was sent to the controller again. `differences`: how its answer differs now. `why`: why it was left out.
   * `isRedacted`: values in it had been replaced. `alike`: further reviews whose answers differ in the same way; they have no event of their own.
   * `asked`: a command asked for it, as opposed to `up --replay`.
   */
  | {
      type: 'reviews.replayed';
      review: ReviewSummary;
      result: 'same' | 'changed' | 'left-out';
      differences?: ReviewSection[];
      why?: string;
      isRedacted?: boolean;
      alike?: AlikeReview[];
      asked?: true;
    }
  /** The summary after a replay. `changed`: how many answers changed. `build`: the build that answered this time. `asked`: as in `reviews.replayed`. */
  | {
      type: 'reviews.compared';
      replayed: number;
      changed: number;
      leftOut: number;
      ms: number;
      build?: string;
      asked?: true;
    };
