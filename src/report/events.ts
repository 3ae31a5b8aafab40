import type { CallSummary, CauseEvent, ReconcileSummary } from './call.ts';
import type { ChangeAction, FieldValues, Writer } from './change.ts';
import type { CrashRound } from './crash-round.ts';
import type { FaultSummary } from './fault.ts';
import type { ComparedManifest } from './manifest.ts';
import type { ObjectName } from './object-name.ts';
import type { PlanDifference, PlannedWrite } from './planned-write.ts';
import type { BroadRule, ComparedRoles, MissingRule, RbacCure, UnseenRule } from './rbac.ts';
import type {
  AlikeReview,
  LateAnswer,
  ReviewCause,
  ReviewSection,
  ReviewSummary,
  WaitingReview,
} from './review.ts';
import type { Searched, SessionStatus } from './session-status.ts';

/**
 * Everything that a person or a script can see of devloop. Code emits events; `human` and `json` print them.
 * Times are in milliseconds unless the name says seconds.
 */
export type DevloopEvent =
  /** A value that was discovered or chosen, and where it comes from. */
  | { type: 'discovered'; what: Discovered; value: string; source: string }
  /**
   * A setting, as `config` prints it. `value` is as in devloop.yaml; without one, `otherwise` says what applies. `from`: a flag, a variable,
   * `devloop.yaml` or `default`; two if their values are added.
   */
  | { type: 'setting'; key: string; value?: unknown; otherwise?: string; from: string[] }
  /** Something is not as it should be, but devloop continues. The `code` keeps its meaning; [notices](notices.md) lists them with their `values`. */
  | { type: 'warning'; code: string; values: object; message: string; hint?: string }
  /** Something worth knowing that needs no action. `code` and `values`: as for a warning. */
  | { type: 'note'; code: string; values: object; message: string }
  /** A wait that takes long enough to be noticed. `limitSeconds` is absent if nothing limits the wait, as for a build. */
  | { type: 'waiting'; for: string; seconds: number; limitSeconds?: number; progress?: Progress }
  /**
   * One write to the cluster. In a dry run, a write that `up` or `down` would make; `route` is set when only that route needs it.
   * `temporary`: an object of devloop's own that is gone when the command ends. `fields`: in a dry run of `down`, the fields
   * of the user's object that it would restore; fields that somebody else changed keep their values.
   */
  | {
      type: 'change';
      action: ChangeAction;
      object: ObjectName;
      detail: string;
      dryRun?: boolean;
      route?: string;
      temporary?: boolean;
      fields?: FieldValues[];
    }
  /** In a dry run: a route that `up` would try, the first one at position 1. The `change` events of this route follow. */
  | { type: 'route.planned'; route: string; position: number; detail: string }
  /**
   * In a dry run: how the controller would be built (if at all) and run. `account`: the ServiceAccount as which it is to call the API server, if
   * the user's account may let it; absent if it works with that.
   */
  | { type: 'controller.planned'; build?: string[]; command: string[]; cwd: string; account?: string }
  /** kube-apiserver reached this machine through the Service (`namespace/name`). */
  | { type: 'route.verified'; route: string; address: string; service: string; latencyMs: number }
  /** The connection broke and devloop is reconnecting. Reviews that arrive now wait within their budget, or fail. */
  | { type: 'route.lost'; route: string; cause: string }
  /** The connection is back, `ms` after it was lost; `route.verified` follows once kube-apiserver has used it. */
  | { type: 'route.reconnected'; route: string; via: string; ms: number }
  /** The webhook's key pair is in the directory where the controller looks for it. */
  | { type: 'certificate.written'; directory: string; names: string[]; notAfter: string; source: string }
  /**
   * The controller is being built because these files changed (paths in the checkout, absolute outside it). `reason` is empty for the first
   * build, and for a restart that somebody asked for.
   */
  | { type: 'build.started'; reason: string[] }
  /** The build has succeeded, after `ms`. `identical`: the program is the one that is already running, so it goes on running. */
  | { type: 'build.done'; ms: number; identical?: true }
  /** The build has failed, after `ms`. `output` is what the compiler printed. */
  | { type: 'build.failed'; ms: number; output: string }
  /** The program of a new build did not start, for the reason in `why`, so that of the last build that worked is started again. */
  | { type: 'build.reverted'; why: string }
  /**
   * `build` names the program. In `3f2a91c 10:14:58 +dirty`: its hash (absent if unknown), when its build began, and whether git saw
   * changes then.
   */
  | { type: 'controller.started'; pid: number; command: string[]; build: string; package?: string }
  /** The controller is being restarted because these files changed (as in `build.started`); devloop does not build it. */
  | { type: 'controller.restarting'; reason: string[] }
  /** The controller answers on its webhook port, or runs if it has no webhooks. */
  | { type: 'controller.ready'; pid: number; ms: number }
  /** The controller runs, but has not answered on its webhook port in time. `controller.ready` follows if it does later. */
  | { type: 'controller.silent'; pid: number; ms: number }
  /** `expected`: devloop stopped it. */
  | { type: 'controller.exited'; pid: number; code: number | null; signal: string | null; expected: boolean }
  /** No controller is running (`why` names the cause), and reviews fail. `controller.ready` follows when one answers again. */
  | { type: 'controller.down'; why: string }
  /** A new build is now serving. `ms` runs from the first changed file until it answers; `heldMs` is absent without webhooks. */
  | { type: 'controller.replaced'; pid: number; ms: number; heldMs?: number }
  /** The controller elects a leader and waits to become it, so it does not reconcile yet. `holder`: who holds its Lease, if that is known. */
  | { type: 'leader.waiting'; lease: ObjectName; holder?: string }
  /** A controller that has waited leads now, and reconciles. `ms` runs from the moment when it began to wait. */
  | { type: 'leader.elected'; lease: ObjectName; ms: number }
  /** devloop has freed the Lease of a leader that has ended, so that the next one does not wait until it expires. */
  | { type: 'leader.released'; lease: ObjectName; holder: string }
  /** Files that pin the session's cluster for a controller that the user starts, in the order in which KUBECONFIG lists them. */
  | { type: 'controller.kubeconfig'; files: string[] }
  /**
   * As whom the controller calls the API server from now on: with tokens of a ServiceAccount, by impersonating it, or as the user.
   * `account`: the ServiceAccount, as the API server calls it.
   */
  | { type: 'controller.identity'; how: 'token' | 'impersonation' | 'user'; account?: string }
  /** A line that the controller printed. */
  | { type: 'controller.output'; stream: 'stdout' | 'stderr'; line: string }
  /** Editors can connect to the debugger on this port of 127.0.0.1. */
  | { type: 'debug.listening'; port: number }
  /** An editor has connected and set its breakpoints. */
  | { type: 'debug.attached'; editor: string }
  /** The last editor has disconnected. devloop removed its breakpoints, and the controller keeps running. */
  | { type: 'debug.left'; editor: string }
  /** The controller has stopped at a breakpoint, or between two steps, and does not answer reviews. `file` is a path. */
  | { type: 'debug.stopped'; file?: string; line?: number; function?: string }
  /** A step has ended, and the controller has stopped again at another place. */
  | { type: 'debug.stepped'; file?: string; line?: number; function?: string }
  /** The controller continues after a stop. */
  | { type: 'debug.running' }
  /** The take-over begins. devloop has checked everything that it can check without writing to the cluster. */
  | { type: 'session.started'; session: string; context: string; targets: ObjectName[] }
  /**
   * The take-over is complete. `oldPods`: how many Pods of the in-cluster manager have not ended yet. kube-apiserver can go on calling them over
   * open connections; `manager.gone` follows when it cannot. `embedded`: the API server is the session's own. `alone`: nothing in the cluster matches, so nothing was taken over, and the
   * controller just runs here.
   */
  | { type: 'session.ready'; session: string; ms: number; oldPods?: number; alone?: true; embedded?: true }
  /**
   * All Pods that the session has ended are gone, so all reviews are answered here. It follows `session.ready`, unless the pause ends no Pod.
   * `oldPods`: as in `session.ready`.
   */
  | { type: 'manager.gone'; session: string; ms: number; oldPods?: number }
  /** The session ends, and devloop begins to restore everything. */
  | { type: 'session.stopping'; reason: string }
  /**
   * Everything that the session changed is restored, except what somebody else also changed. In that case an `error` follows. `ms`: how
   * long restoring the cluster took; `endMs` (only for `up`): how long the route and the controller then took to end.
   */
  | { type: 'session.restored'; session: string; changes: number; ms: number; endMs?: number }
  /** Somebody else wrote a field that this session had changed (`from` and `to` are JSON). devloop has written it again. */
  | { type: 'guard.overwritten'; object: ObjectName; field: string; from: string; to: string; by: Writer }
  /** Somebody else deleted an object that points a Service to this machine. devloop has created it again. */
  | { type: 'guard.deleted'; object: ObjectName }
  /** A new version of the operator was applied. `restart`: the controller gets the new command or environment at its next restart. */
  | { type: 'guard.followed'; object: ObjectName; changes: string[]; restart: boolean; by: Writer }
  /** How a CRD, role or webhook configuration of the checkout differs from the cluster's. */
  | ({ type: 'manifest' } & ComparedManifest)
  /** A review that was answered, or whose client is gone. */
  | ({ type: 'review' } & ReviewSummary)
  /** What the controller answered to a review that devloop had already answered, because the budget was used up. */
  | { type: 'review.late'; id: string; late: LateAnswer }
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
  | ({ type: 'rbac.broad' } & BroadRule)
  /**
   * Reviews wait within their budget until they are released, because somebody asked for it: with the key h, on the page, or with
   * `devloop hold`.
   */
  | { type: 'reviews.held'; session: string }
  /** What the controller would write, found by `devloop plan`. */
  | { type: 'plan.write'; write: PlannedWrite }
  /** The plan is complete: how many writes there would be of each kind. */
  | { type: 'plan.done'; create: number; change: number; delete: number; refused: number; notSent: number }
  /** `devloop crashtest` has run the command twice without a crash: what the controller wrote, in how many objects, and where it is to be killed. */
  | { type: 'crashtest.undisturbed'; writes: number; objects: number; points: number; ms: number }
  /** One run of `devloop crashtest`, in which the controller was killed at one of its writes. */
  | { type: 'crashtest.round'; number: number; of: number; round: CrashRound }
  /**
   * The result of `devloop crashtest`. `wrong`: in how many runs the end was another one. `notMet`: in how many the write was not made again.
   * `left`: at how many further writes it was not killed. `isReset`: whether what the last run did was taken back; if not, no other could follow.
   */
  | { type: 'crashtest.done'; points: number; wrong: number; notMet: number; left: number; isReset: boolean }
  /** `devloop plan --against`: a write that the plans of the checkout and of the revision do not have in common. */
  | { type: 'plan.difference'; revision: string; difference: PlanDifference }
  /** How many writes only one of the plans has, how many both have differently, and how many are the same. */
  | { type: 'plan.compared'; against: string; checkout: number; revision: number; both: number; same: number }
  /** What goes wrong on purpose: after each change, and as `devloop fault` lists it. */
  | { type: 'faults.listed'; session: string; faults: FaultSummary[] }
  /** Reviews are forwarded again. `waiting`: how many had been waiting. */
  | { type: 'reviews.released'; session: string; waiting: number }
  /** Somebody asked devloop to ignore changed files. It builds them when it follows files again. */
  | { type: 'files.ignored' }
  /** devloop follows changed files again, because somebody asked for it. `files`: those that have changed in between, and are built now. */
  | { type: 'files.followed'; files: string[] }
  /**
   * The session's page is open at `url`, only on this machine. Whoever has the URL can use the page until the session ends. `opened`: in
   * the user's browser. `tunnel`: the command that makes it reachable over SSH.
   */
  | { type: 'page.served'; url: string; opened: boolean; tunnel?: string }
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
    }
  /** The result of `devloop status`. */
  | { type: 'status'; sessions: SessionStatus[]; searched: Searched }
  /** One result of `devloop doctor`: the `answer`, the `proof` behind it, and a `hint` about what to do next. */
  | {
      type: 'finding';
      check: string;
      verdict: Verdict;
      answer: string;
      proof?: string[];
      latencyMs?: number;
      hint?: string;
    }
  /**
   * The command failed. `summary`: it only sums up the findings before it. `code` and `exitCode` are those of docs/errors.md; a bug in
   * devloop has the code `bug` and exit code 1.
   */
  | { type: 'error'; code: string; message: string; hint?: string; exitCode: number; summary?: true };

/** The progress of a build. */
export interface Progress {
  step: 'compiling' | 'linking' | 'downloading';
  /** The package that is being compiled or linked, or the module that is being downloaded. */
  what: string;
  /** How many packages or modules are done. */
  done: number;
  total?: number;
}

export type Discovered =
  | 'cluster'
  | 'manifests'
  | 'service'
  | 'webhooks'
  | 'deployment'
  | 'statefulset'
  | 'daemonset'
  | 'pod'
  | 'secret'
  | 'main package'
  | 'program'
  | 'build tags'
  | 'compiler flags'
  | 'linker flags'
  | 'address'
  | 'command'
  | 'setting';

/**
 * ok: as it should be; warn: works, but may cause trouble; fail: `up` would fail; info: `up` does not need it; unknown: could not be
 * checked.
 */
export type Verdict = 'ok' | 'warn' | 'fail' | 'info' | 'unknown';

/** `deployment`: the Deployment whose session the event is about, as the user named it; absent if there is only one session. */
export type Emit = (event: DevloopEvent, deployment?: string) => void;
