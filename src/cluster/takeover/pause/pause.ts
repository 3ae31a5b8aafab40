import type { DevloopError } from '../../../errors.ts';
import type { Kind, ObjectRef } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Permission } from '../../api/permissions.ts';
import type { Workload } from '../../api/workloads.ts';
import type { OwnChange } from '../../marks/marks.ts';
import type { Kept } from '../../marks/undo.ts';
import type { Step } from '../../step.ts';
import type { Work } from '../../work.ts';
import type { RefusedBy } from './refusals.ts';

/** A way to pause the in-cluster manager by a marked change, and to resume it. They are listed in strategies.ts. */
export interface Pause {
  /** For display: `replicas of the Deployment`. */
  name: string;
  /** The kind of the objects that it changes. Their marks show which managers to resume. */
  kind: Kind;
  /** Whether it can pause this manager. */
  fits(manager: Manager): boolean;
  permissions(namespace: string): Permission[];
  /** What it changes in those objects; nothing else is ever restored in them. */
  own: OwnChange;
  pause(manager: Manager): PauseStep;
  /** Resumes the manager; returns what somebody else changed in the meantime. `seen`: the object as it was read a moment ago. */
  restore(work: Work, ref: ObjectRef, seen?: KubeObject): Promise<Kept[]>;
  /** Resumes the manager if a webhook that does not answer blocks `restore`; the mark stays. */
  resumeMarked?(work: Work, ref: ObjectRef): Promise<void>;
  /** What the API server said when it last refused the manager's Pods. */
  refusedBy: RefusedBy;
  /** Pauses once more a manager whose Pods were refused, so that they are created at once when it is resumed. */
  pauseAgain?(work: Work, manager: Manager): Promise<void>;
}

export interface PauseStep extends Step<(work: Work) => Promise<Pausing>> {
  /** The manager's Pods stay up and answer reviews as long as the Services select them. */
  answersReviews: boolean;
}

/** The in-cluster manager, and the object that its Pods belong to. */
export interface Manager {
  /** One of WORKLOAD_KINDS, or one of the Pods if they belong to nothing that devloop knows. */
  ref: ObjectRef;
  object: Workload;
}

/** A manager that is being paused. No promise has to be awaited. */
export interface Pausing {
  /** The manager no longer works on any object: the controller can start. */
  idle: Promise<void>;
  /** All Pods that have to end are terminating. */
  terminating: Promise<void>;
  /** Whether they have ended; false if they have not after a minute. */
  ended: Promise<boolean>;
  /** Resumes a manager that is paused without a mark. */
  release?: (ending: Work) => Promise<void>;
  /** Resolves when the manager is no longer paused, and devloop cannot change that. */
  lost?: Promise<DevloopError>;
}
