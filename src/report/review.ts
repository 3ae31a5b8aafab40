import type { ObjectName } from './object-name.ts';

/** One review without its objects. Values that look secret are replaced. */
export interface ReviewSummary {
  id: string;
  /** That of the AdmissionReview. */
  uid?: string;
  /** When it arrived, as an ISO time. */
  at: string;
  kind: ReviewKind;
  /** The webhook's name in its configuration, or the CRD's name; the path if neither is known. */
  webhook: string;
  /** Absent if it is not known, and for conversions. */
  webhookType?: WebhookType;
  path: string;
  /**
   * The port on which the manager listens in its Pod. The controller listens on the same port of the loopback interface, unless it was
   * given another one.
   */
  port?: number;
  operation?: string;
  resource?: ReviewedKind;
  object?: ReviewedObject;
  user?: string;
  /** The user is that of the session, or the account as which its controller works. */
  isOwnUser?: true;
  dryRun?: boolean;
  /** What the webhook declares, if that is neither None nor NoneOnDryRun. */
  sideEffects?: string;
  verdict: ReviewVerdict;
  /** The status code of the answer. */
  code?: number;
  /** The message of the answer. */
  message?: string;
  warnings?: string[];
  /** What the answer changes: `+spec.replicas=1`, `~spec.image`, `-spec.old`. */
  patch?: string[];
  /** How many changes the patch makes, if `patch` lists only the first of them. */
  changes?: number;
  /** The fields among them that kube-apiserver does not store. Fields that the user sent are pruned before the review. */
  pruned?: PrunedField[];
  /** For a conversion: the API versions of its objects. */
  from?: string[];
  /** For a conversion: the API version that was asked for. */
  to?: string;
  /** For a conversion: how many objects it has. */
  objects?: number;
  /** The faults that it met, as they are written. */
  faults?: string[];
  ms: ReviewTimes;
  /** The build that ran when the answer was sent. */
  build?: string;
  /** The old build answered, because newer sources did not build or start. */
  isOldBuild?: boolean;
  /** The main package of the program that answered, as `up --package` takes it. */
  package?: string;
  late?: LateAnswer;
}

/**
 * A field that a webhook set, and that is not stored: `spec.colour`, `spec.rules[].colour`. not-in-crd: it is missing from the schema of the
 * cluster's CRD. status-subresource: only a write to the status subresource can change it.
 */
export interface PrunedField {
  field: string;
  why: 'not-in-crd' | 'status-subresource';
}

/** The call of the controller for which kube-apiserver asked for a review, and the reconcile that made it. */
export interface ReviewCause {
  /** `c-000041` */
  call: string;
  verb: string;
  /** `k-000012`; absent if the call belongs to none, or to one that has not ended. */
  reconcile?: string;
  /** What that reconciled: `Application default/web`. */
  of?: ObjectName;
}

export type WebhookType = 'mutating' | 'validating';

/** unreadable: the request was not a review. */
export type ReviewKind = 'admission' | 'conversion' | 'unreadable';

/**
 * failed: the controller's answer was not a verdict. answered-by-devloop: the controller did not answer within the budget, so devloop
 * answered with the error or the verdict that --on-timeout sets. unanswered: the caller disconnected before it got an answer. Without a
 * verdict, kube-apiserver applies the failurePolicy.
 */
export type ReviewVerdict =
  | 'allowed'
  | 'denied'
  | 'converted'
  | 'failed'
  | 'answered-by-devloop'
  | 'unanswered';

/** What a list shows for a review in place of a verdict. */
export type ListedVerdict = ReviewVerdict | 'waiting';

const EACH: Record<ListedVerdict, true> = {
  allowed: true,
  denied: true,
  converted: true,
  failed: true,
  'answered-by-devloop': true,
  unanswered: true,
  waiting: true,
};
export const LISTED_VERDICTS = Object.keys(EACH) as ListedVerdict[];

export interface ReviewedKind {
  group: string;
  version: string;
  kind: string;
}

export interface ReviewedObject {
  namespace?: string;
  name: string;
}

/** Where the time of a review went, in milliseconds. */
export interface ReviewTimes {
  /** How long the gateway held it, for example while a controller was replaced. */
  held: number;
  /** How long the controller took to answer. */
  controller: number;
  total: number;
  /** What the caller allows. */
  budget: number;
}

/** The controller's answer to a review that devloop had already answered. It came `totalMs` after the review had arrived. */
export interface LateAnswer {
  verdict: ReviewVerdict;
  code?: number;
  message?: string;
  warnings?: string[];
  patch?: string[];
  changes?: number;
  totalMs: number;
}

/** A late answer to the review with this id. */
export interface LateReview {
  id: string;
  late: LateAnswer;
}

/** A review that is named beside another one. */
export interface AlikeReview {
  id: string;
  object?: ReviewedObject;
}

/** A part of a review as text: YAML, or a unified diff. */
export interface ReviewSection {
  title: string;
  text: string;
}

/** What a review waits for. release: it is held; connection: the controller has not accepted it yet; answer: the controller has it. */
export type WaitsFor = 'release' | 'connection' | 'answer';

/** A review without an answer, and so without an id. */
export interface WaitingReview {
  /** When it arrived, as in the `review` event. */
  at: string;
  kind: ReviewKind;
  webhook: string;
  webhookType?: WebhookType;
  path: string;
  operation?: string;
  resource?: ReviewedKind;
  object?: ReviewedObject;
  user?: string;
  dryRun?: boolean;
  from?: string[];
  to?: string;
  objects?: number;
  waitsFor: WaitsFor;
  /** total: how long it has waited, in milliseconds; budget: what the caller allows. */
  ms: { total: number; budget: number };
}

/**
 * Whether a review was answered after another one; every review was answered after `''`. Ids can have different lengths, because a session
 * of several days can have more than a million reviews.
 */
export function isLater(id: string, than: string): boolean {
  return id.length === than.length ? id > than : id.length > than.length;
}
