import type { Kind, ObjectRef } from '../../api/kinds.ts';
import type { KubeObject, Pod } from '../../api/objects.ts';
import type { Permission } from '../../api/permissions.ts';
import type { OwnChange } from '../../marks/marks.ts';
import type { Kept } from '../../marks/undo.ts';
import type { Step } from '../../step.ts';
import type { Observer, Work } from '../../work.ts';

/** A way to pause the in-cluster manager, and to resume it. Strategies are listed in strategies.ts. */
export interface Pause<T extends KubeObject = KubeObject> {
  /** For display: `replicas of a Deployment`. */
  name: string;
  /** The kind of the objects that it changes. Their marks show which managers to resume. */
  kind: Kind;
  /** Whether it can pause a manager that runs in this object. */
  fits(workload: Workload): boolean;
  permissions(namespace: string): Permission[];
  /** What it changes in those objects; nothing else is ever restored in them. */
  own: OwnChange;
  pause(workload: T): Step<(work: Work) => Promise<Pausing>>;
  /** Resumes the manager; returns what somebody else changed in the meantime. */
  restore(work: Work, ref: ObjectRef): Promise<Kept[]>;
  waitUntilResumed(observer: Observer, ref: ObjectRef, limitSeconds: number): Promise<Resumed>;
  /** The Pods that the manager runs in; without those that are terminating. */
  runningPods(api: Observer['api'], workload: T): Promise<Pod[]>;
}

/** The object that the manager runs in. */
export interface Workload {
  kind: Kind;
  object: KubeObject;
}

/** A manager that is being paused. Neither promise has to be awaited. */
export interface Pausing {
  /** All its Pods are terminating. */
  terminating: Promise<void>;
  /** All its Pods have ended; false when they have not within a minute. */
  ended: Promise<boolean>;
}

/** `blocked`: what kube-apiserver says when the manager's Pods cannot be created because its own webhook is unreachable. */
export interface Resumed {
  ready: boolean;
  blocked?: string;
}
