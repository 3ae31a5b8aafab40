/** The messages between the page and its server. */
import type { PageAction } from '../report/actions.ts';
import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import type { FieldValues } from '../report/change.ts';
import type { DevloopEvent } from '../report/events.ts';
import type { FaultSummary } from '../report/fault.ts';
import type { ObjectName } from '../report/object-name.ts';
import type { LateReview, ReviewSection, ReviewSummary, WaitingReview } from '../report/review.ts';
import type { SessionState } from '../report/session-state.ts';

/** Sent when the page connects, and after each change. */
export interface PageStatus {
  state: Omit<SessionState, 'last'>;
  /** The health in words: `serving`, or what keeps reviews from the controller. */
  health: string;
  /** The context of the kubeconfig. */
  context: string;
  /** What the compiler printed, if the last finished build failed. */
  compiler?: string;
  /** What `up --replay` found after the last restart. */
  compared?: Compared;
  /** What the page's buttons can do now. */
  actions: PageAction[];
  /** Whether a review can be sent to the controller again. */
  canReplay: boolean;
}

/** A review with its objects. */
export interface ReviewDetail {
  review: ReviewSummary;
  /** How many values were replaced because they looked secret. */
  redacted: number;
  /** Why there are no parts. */
  notKept?: string;
  parts: ReviewPart[];
  /** The fields that the answer refuses, as its causes name them. */
  causes: FieldCause[];
}

/** `spec.image`, and what is wrong with it. */
export interface FieldCause {
  field: string;
  message: string;
}

/** A call, with the object before and after it as YAML, as far as they are known. */
export interface CallDetail {
  call: CallSummary;
  before?: string;
  after?: string;
}

/** A reconcile, with what was logged in it. */
export interface ReconcileDetail {
  reconcile: ReconcileSummary;
  log: string[];
}

/** What `devloop timeline` prints about an object, oldest first. */
export type TimelineEntry = Extract<
  DevloopEvent,
  { type: 'reviews.listed' | 'calls.listed' | 'reconciles.listed' | 'timeline.changed' | 'timeline.logged' }
>;

export interface ObjectTimeline {
  entries: TimelineEntry[];
  /** How many older ones are left out. */
  left: number;
}

/** A warning of the session. */
export interface PageWarning {
  /** When it was last said, as an ISO time. */
  at: string;
  code: string;
  message: string;
  hint?: string;
  /** What it is about. */
  object?: ObjectName;
}

/** What the page changes in the session's faults: rules to add, and ids of those that end. */
export interface PageFaultChange {
  add?: string[];
  clear?: string[];
}

/** One part of a review as YAML. `before`: the text from which it was changed. */
export interface ReviewPart {
  name: 'request' | 'object' | 'patch' | 'response' | 'late';
  before?: string;
  text: string;
  /** What a reader has to know about it. */
  note?: string;
}

/** How many recorded reviews were sent to the build that answers, and which of them it answers differently. */
export interface Compared {
  replayed: number;
  changed: number;
  /** The ids of the first reviews that changed. */
  ids: string[];
}

/** What the controller answers to a recorded review now. */
export interface ReplayedReview {
  result: 'same' | 'changed' | 'left-out';
  /** The parts that changed. */
  differences?: ReviewSection[];
  /** Why it was left out. */
  why?: string;
}

export type ExportFormat = 'curl' | 'go';

/** A review as a curl command, or as a Go test. */
export interface ExportedReview {
  text: string;
  /** What a person has to know before they use it. */
  warnings: string[];
}

/** A change of the cluster that the end of the session undoes. */
export interface PageChange {
  action: 'restore' | 'delete';
  object: ObjectName;
  /** Fields of a user's object that the session changed. */
  fields?: FieldValues[];
  /** Why nothing is restored. */
  fault?: string;
}

/** The header that carries the page's key, without which nothing can be changed. */
export const KEY_HEADER = 'x-devloop-key';

/** The events of the stream. */
export interface PageMessages {
  status: PageStatus;
  /** Recorded reviews, oldest first. */
  reviews: ReviewSummary[];
  /** Late answers to reviews that the page already has, or gets first. */
  late: LateReview[];
  /** All reviews that have no answer at this moment, oldest first. */
  waiting: WaitingReview[];
  /** Recorded calls and reconciles, in the order in which they ended. */
  calls: (CallSummary | ReconcileSummary)[];
  /** All warnings, oldest first, after each change. */
  warnings: PageWarning[];
  /** All faults, after each change. */
  faults: FaultSummary[];
  /** The session has ended in order, and its server with it. */
  ended: Record<string, never>;
}
