/**
 * Everything that a person or a script can see of devloop. Code emits events; `human` and `json` are two printers of them.
 * Times are milliseconds unless the name says seconds; objects are written `Kind namespace/name`.
 */
export type DevloopEvent =
  | { type: 'discovered'; what: Discovered; value: string; source: string }
  | { type: 'warning'; message: string; hint?: string }
  | { type: 'note'; message: string }
  /** A wait that takes long enough to be noticed. */
  | { type: 'waiting'; for: string; seconds: number; limitSeconds: number }
  /** One write to the cluster (or, in a dry run, the write that would be made). */
  | { type: 'change'; action: ChangeAction; object: string; detail: string; dryRun?: boolean }
  | { type: 'route.proven'; route: string; address: string; service: string; latencyMs: number }
  | { type: 'certificate.written'; directory: string; names: string[]; notAfter: string; source: string }
  | { type: 'build.started'; reason: string[] }
  | { type: 'build.done'; ms: number }
  | { type: 'build.failed'; ms: number; output: string }
  | { type: 'controller.started'; pid: number; command: string[] }
  | { type: 'controller.ready'; pid: number; ms: number }
  | { type: 'controller.exited'; pid: number; code: number | null; signal: string | null; expected: boolean }
  /** A new build serves: from the first changed file to the moment reviews flow again. */
  | { type: 'controller.replaced'; pid: number; ms: number; heldMs: number }
  | { type: 'controller.output'; stream: 'stdout' | 'stderr'; line: string }
  | { type: 'session.started'; session: string; context: string; target: string }
  | { type: 'session.ready'; session: string; ms: number }
  | { type: 'session.stopping'; reason: string }
  | { type: 'session.restored'; session: string; changes: number; ms: number }
  | { type: 'status'; sessions: SessionStatus[] }
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
  | 'address'
  | 'command'
  | 'setting';

export type ChangeAction = 'create' | 'change' | 'delete' | 'restore' | 'keep';

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
