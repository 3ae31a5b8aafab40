import type { CallSummary, CauseEvent, ReconcileSummary } from '../call.ts';
import type { BroadRule, ComparedRoles, MissingRule, RbacCure, UnseenRule } from '../rbac.ts';
import type { ReviewSection, ReviewSummary } from '../review.ts';

/** What the controller asked of the API server, and did. */
export type CallEvent =
  /** A write of the controller outside of a reconcile, also one that was refused. */
  | ({ type: 'call' } & CallSummary)
  /** A reconcile of the controller that has ended. */
  | ({ type: 'reconcile' } & ReconcileSummary)
  /** One call of a list, or with `sections` one that was asked for, with the `reviews` that it caused. */
  | { type: 'calls.listed'; call: CallSummary; sections?: ReviewSection[]; reviews?: ReviewSummary[] }
  /** One reconcile of a list, or one that was asked for, with the lines that were logged in it, and the reviews that it caused. */
  | { type: 'reconciles.listed'; reconcile: ReconcileSummary; log?: string[]; reviews?: ReviewSummary[] }
  /** `devloop timeline`: what others changed in the object, in between its reviews, calls and reconciles. */
  | { type: 'timeline.changed'; change: CauseEvent }
  /** `devloop timeline`: a line that was logged about the object. `reconcile`: in which reconcile, with the time of that. */
  | { type: 'timeline.logged'; at: string; reconcile: string; line: string }
  /** `devloop rbac`: what was compared, before the findings. */
  | ({ type: 'rbac.compared' } & ComparedRoles)
  /** `devloop rbac`: the controller's calls need it, and its roles do not allow it. `cure`: how to add it. */
  | ({ type: 'rbac.missing'; cure: RbacCure } & MissingRule)
  /** `devloop rbac`: roles allow it, and no call of this session used it. Other sessions may: a controller also calls when something fails. */
  | ({ type: 'rbac.unseen' } & UnseenRule)
  /** `devloop rbac`: a rule allows more than the calls of this session used. */
  | ({ type: 'rbac.broad' } & BroadRule);
