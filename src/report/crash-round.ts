import type { ReconcileSummary } from './call.ts';

/** What has become of a run of the scenario in which the controller was killed at one of its writes. */
export interface CrashRound {
  /** Where it was killed, as a fault: `crash create deployments.apps namespace=default name=web nth=1`. */
  point: string;
  /** The write, in words: `create Deployment default/web`. */
  write: string;
  /**
   * same: the objects are as after a run without a crash. different: they are not. restless: the controller has not come to rest. failed: the
   * scenario's command has failed. not-met: this write was not made again.
   */
  result: 'same' | 'different' | 'restless' | 'failed' | 'not-met';
  /** Why it is restless or failed. */
  why?: string;
  differences?: ObjectDifference[];
  /** The reconcile that made the write. */
  reconcile?: ReconcileSummary;
  /** The last warnings and errors that the controller logged. */
  log?: string[];
  /** The command that repeats this round alone. */
  repeat?: string;
  ms: number;
}

/** How an object, or several whose names are generated, differ from those after a run without a crash. */
export interface ObjectDifference {
  /** `Deployment default/web`; `*` stands for what is generated. */
  object: string;
  what: 'missing' | 'more' | 'changed';
  /** How many there are, and were without a crash. */
  count: number;
  expected: number;
  /** The lines of the YAML that differ. */
  diff?: string;
}
