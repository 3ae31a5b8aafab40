import type { ObjectName } from './object-name.ts';

/** What a controller would have done, had it not been a dry run. */
export interface PlannedWrite {
  /** refused: the API server would refuse it. not-sent: it cannot be asked without a change. */
  action: 'create' | 'change' | 'delete' | 'refused' | 'not-sent';
  verb: string;
  /** The plural, with a subresource: `deployments/status`. */
  resource: string;
  group?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  /** Why it is refused or was not sent. */
  message?: string;
  /** The fields that it changes, the first ones only: `~spec.replicas=2`. */
  changes?: string[];
  /** The object as YAML, or how it changes. */
  diff?: string;
  /** It comes after a write of the same object that nothing has stored, so it may be another one in the end. */
  isLater?: true;
  /** The controller waits here for what nothing has stored, so what would follow is not in the plan. */
  waits?: PlanWait;
}

/** How a controller shows that it waits for what nothing has stored. */
export interface PlanWait {
  /**
   * reconcile: it reconciles an object again and again, each time unfinished. object: it asks for what it wrote. written: it writes to what it
   * has created. repeated: it repeats the write.
   */
  for: 'reconcile' | 'object' | 'written' | 'repeated';
  /** How often after the write. */
  times: number;
  /** The object that it reconciles. */
  of?: ObjectName;
  /** Of the last reconcile. */
  error?: string;
}

/** What two plans do not have in common: that of the checkout, and that of a revision. */
export interface PlanDifference {
  /** Which of them has the write. */
  by: 'checkout' | 'revision' | 'both';
  write: PlannedWrite;
  /** by both: what the revision writes there. */
  instead?: PlannedWrite;
  /** by both: how the object after the write differs, from that of the revision to that of the checkout. */
  diff?: string;
}
