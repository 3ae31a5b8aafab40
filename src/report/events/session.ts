import type { ChangeAction, FieldValues, Writer } from '../change.ts';
import type { FaultSummary } from '../fault.ts';
import type { ObjectName } from '../object-name.ts';

/** What a session does to the cluster, and how it is controlled. */
export type SessionEvent =
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
  | {
      type: 'controller.planned';
      generate?: string[];
      build?: string[];
      command: string[];
      cwd: string;
      account?: string;
    }
  /** kube-apiserver reached this machine through the Service (`namespace/name`). */
  | { type: 'route.verified'; route: string; address: string; service: string; latencyMs: number }
  /** The connection broke and devloop is reconnecting. Reviews that arrive now wait within their budget, or fail. */
  | { type: 'route.lost'; route: string; cause: string }
  /** The connection is back, `ms` after it was lost; `route.verified` follows once kube-apiserver has used it. */
  | { type: 'route.reconnected'; route: string; via: string; ms: number }
  /** The webhook's key pair is in the directory where the controller looks for it. */
  | { type: 'certificate.written'; directory: string; names: string[]; notAfter: string; source: string }
  /** The take-over begins. devloop has checked everything that it can check without writing to the cluster. */
  | { type: 'session.started'; session: string; context: string; targets: ObjectName[] }
  /**
   * The take-over is complete. `oldPods`: how many Pods of the in-cluster manager have not ended yet. kube-apiserver can go on calling them over
   * open connections; `manager.gone` follows when it cannot. `embedded`: the API server is the session's own. `detached`: the session runs in the background. `alone`: nothing in the cluster matches, so nothing was taken over, and the
   * controller just runs here.
   */
  | {
      type: 'session.ready';
      session: string;
      ms: number;
      oldPods?: number;
      alone?: true;
      embedded?: true;
      detached?: true;
    }
  /**
   * All Pods that the session has ended are gone, so all reviews are answered here. It follows `session.ready`, unless the pause ends no Pod.
   * `oldPods`: as in `session.ready`.
   */
  | { type: 'manager.gone'; session: string; ms: number; oldPods?: number }
  /** The answer of `wait` and `restart`: the newest code serves. `build` as in `controller.started`. */
  | { type: 'session.serving'; session: string; build?: string; ms: number }
  /** The answer of `env`: the variables with which other programs reach the session's API server. `isEmbedded`: it is the session's own. */
  | {
      type: 'environment';
      session: string;
      context: string;
      isEmbedded: boolean;
      variables: { [name: string]: string };
    }
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
  /**
   * Reviews wait within their budget until they are released, because somebody asked for it: with the key h, on the page, or with
   * `devloop hold`.
   */
  | { type: 'reviews.held'; session: string }
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
  | { type: 'page.served'; url: string; opened: boolean; tunnel?: string };
