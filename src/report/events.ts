/**
 * Everything that a person or a script can see of devloop. Code emits events; `human` and `json` are two printers of them.
 * Times are milliseconds unless the name says seconds; objects are written `Kind namespace/name`.
 */
export type DevloopEvent =
  /** A value that was found out or chosen, and where it comes from. */
  | { type: 'discovered'; what: Discovered; value: string; source: string }
  /** Something is not as it should be, but devloop goes on. */
  | { type: 'warning'; message: string; hint?: string }
  /** Something worth knowing that needs no action. */
  | { type: 'note'; message: string }
  /** A wait that takes long enough to be noticed. */
  | { type: 'waiting'; for: string; seconds: number; limitSeconds: number }
  /** One write to the cluster (or, in a dry run, the write that would be made; `route`: on that way alone). */
  | {
      type: 'change';
      action: ChangeAction;
      object: string;
      detail: string;
      dryRun?: boolean;
      route?: string;
    }
  /** In a dry run: a way that would be tried, the first one at position 1. Its changes follow. */
  | { type: 'route.planned'; route: string; position: number; detail: string }
  /** In a dry run: how the controller would be built (if at all) and run. */
  | { type: 'controller.planned'; build?: string[]; command: string[]; cwd: string }
  /** kube-apiserver was seen to reach this machine through the Service. */
  | { type: 'route.proven'; route: string; address: string; service: string; latencyMs: number }
  /** The way here has broken off and is being mended; reviews that arrive meanwhile wait within their budget, or fail. */
  | { type: 'route.lost'; route: string; cause: string }
  /** The way here stands again, `ms` after it was lost; `route.proven` follows when kube-apiserver has been seen to use it. */
  | { type: 'route.mended'; route: string; via: string; ms: number }
  /** The key pair of the webhook lies where the controller looks for it. */
  | { type: 'certificate.written'; directory: string; names: string[]; notAfter: string; source: string }
  /** The controller is being built because of these changed files (paths in the checkout, absolute where outside); none for the first build. */
  | { type: 'build.started'; reason: string[] }
  | { type: 'build.done'; ms: number }
  /** `output` is what the compiler said. */
  | { type: 'build.failed'; ms: number; output: string }
  | { type: 'controller.started'; pid: number; command: string[] }
  /** The controller answers on its webhook port; without webhooks, it runs. */
  | { type: 'controller.ready'; pid: number; ms: number }
  /** `expected`: devloop ended it. */
  | { type: 'controller.exited'; pid: number; code: number | null; signal: string | null; expected: boolean }
  /** A new build serves: from the first changed file to the moment reviews flow again. */
  | { type: 'controller.replaced'; pid: number; ms: number; heldMs: number }
  /** A line that the controller printed. */
  | { type: 'controller.output'; stream: 'stdout' | 'stderr'; line: string }
  | { type: 'session.started'; session: string; context: string; target: string }
  /** The take-over is complete. */
  | { type: 'session.ready'; session: string; ms: number }
  | { type: 'session.stopping'; reason: string }
  /** What the session changed is put back. */
  | { type: 'session.restored'; session: string; changes: number; ms: number }
  /** The answer of `devloop status`. */
  | { type: 'status'; sessions: SessionStatus[] }
  /** One answer of `devloop doctor`. `answer` is what is so, `proof` how that is known, `cure` the next thing to do about it. */
  | {
      type: 'finding';
      check: string;
      verdict: Verdict;
      answer: string;
      proof?: string;
      latencyMs?: number;
      hint?: string;
    }
  /** The command failed. `code` and `exitCode` are those of docs/errors.md; a bug of devloop has the code `bug` and exit code 1. */
  | { type: 'error'; code: string; message: string; hint?: string; exitCode: number };

export type Discovered =
  | 'cluster'
  | 'operator'
  | 'service'
  | 'webhooks'
  | 'deployment'
  | 'secret'
  | 'certificate directory'
  | 'main package'
  | 'build tags'
  | 'address'
  | 'command'
  | 'setting';

export type ChangeAction = 'create' | 'update' | 'delete' | 'restore' | 'keep';

/** good: as it should be; bad: stands in the way of `up`; doubtful: works, but may bite; note: fails, but `up` does not need it; unknown: could not be checked. */
export type Verdict = 'ok' | 'fail' | 'warn' | 'info' | 'unknown';

export interface SessionStatus {
  session: string;
  holder: string;
  /** ISO time; empty where the Lease is missing. */
  since: string;
  route: string;
  target: string;
  /** live: the Lease was renewed within its duration; stale: it was not; unknown: there is no Lease. */
  state: 'live' | 'stale' | 'unknown';
  health: string;
  objects: string[];
}

export type Emit = (event: DevloopEvent) => void;
