/** One request of the controller to the API server, without its objects. Values that look secret are replaced. */
export interface CallSummary {
  /** `c-000041`. */
  id: string;
  /** When it arrived, as an ISO time. */
  at: string;
  verb: string;
  /** The path, for a call that names no resource. */
  path?: string;
  group?: string;
  /** The plural, with a subresource as RBAC writes it: `deployments/status`. */
  resource?: string;
  /** Of a list or a watch: which labels and fields it asks for. Absent if it asks for all objects. */
  selector?: string;
  /** How large the answer to a list or a watch was, in bytes, and how many objects it had, if that is known. */
  bytes?: number;
  items?: number;
  /** A watch that goes on, when it has sent each object that there was. It is recorded again when it ends. */
  isOpen?: true;
  /** What it was about. For a list, only its namespace is known. */
  namespace?: string;
  name?: string;
  kind?: string;
  /** Whether it can have changed something. */
  isWrite?: true;
  isDryRun?: true;
  /** The status code of the answer; absent without one. */
  code?: number;
  /** Why it failed. */
  message?: string;
  /** devloop answered, because the API server was away, the session's Lease is not its own, or a fault says so. */
  isOwn?: true;
  /** The faults that it met, as they are written. */
  faults?: string[];
  /** What the write changed: `~spec.replicas=2`; absent if the object was not known before. */
  changes?: string[];
  /** How many fields it changed, if `changes` lists only the first of them. */
  more?: number;
  /** The object after the write is the one before it. */
  isUnchanged?: true;
  /** controller-runtime's ID of the reconcile that made it. */
  reconcile?: string;
  /**
   * For a write without one: the events of the last seconds about its object, or about what controls that, the newest first; of the controller's
   * own, only one about this object a moment before.
   */
  after?: CauseEvent[];
  /** What the API server warned of, in its own words or those of webhooks: unknown fields, deprecated APIs. The first ones only. */
  warnings?: string[];
  /** The uids of the reviews by this session that it has caused, as the API server's answer shows. */
  reviews?: string[];
  ms: number;
  /** The build that made it. */
  build?: string;
}

/** One run of a Reconcile function for one object. */
export interface ReconcileSummary {
  /** `k-000041`. */
  id: string;
  /** controller-runtime's ID, as in log lines. */
  reconcile: string;
  at: string;
  controller: string;
  kind?: string;
  namespace?: string;
  name: string;
  /** In controller-runtime's words. `ended`: the process ended before it did. */
  result: 'success' | 'error' | 'requeue' | 'requeue_after' | 'panic' | 'ended';
  error?: string;
  requeueAfterMs?: number;
  /** The calls that can have changed something, or were refused, the first ones only. */
  calls: ReconcileCall[];
  /** How many of its calls wrote, read, and failed. */
  counts: { writes: number; reads: number; failed: number };
  /** The events that came before it and since the last reconcile of the object, the newest first. */
  after: CauseEvent[];
  /** The reconcile of the object before it, if that failed, or asked to run again and this one came when it was due. */
  retryOf?: RetriedReconcile;
  ms: number;
  build?: string;
}

/** A reconcile after which controller-runtime runs another one without any event. */
export interface RetriedReconcile {
  id: string;
  result: 'error' | 'panic' | 'requeue' | 'requeue_after';
}

/** Whether a call was answered with an error, or not at all. */
export function hasFailed({ code = 500 }: { code?: number | undefined }): boolean {
  return code >= 400;
}

/** What a reconcile shows of one of its calls. The fields are those of `CallSummary`. */
export interface ReconcileCall {
  id: string;
  verb: string;
  group?: string;
  resource?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  code?: number;
  message?: string;
  changes?: string[];
  more?: number;
  isUnchanged?: true;
  warnings?: string[];
  reviews?: string[];
  faults?: string[];
}

/** A change of an object that the controller watches. */
export interface CauseEvent {
  /** When it passed, as an ISO time. */
  at: string;
  kind: string;
  namespace?: string;
  name: string;
  what: 'created' | 'changed' | 'deleted';
  /** Who wrote it, as managedFields name them. */
  by?: string;
  /** This controller itself wrote it. */
  isOwn?: true;
  changes?: string[];
  more?: number;
}
