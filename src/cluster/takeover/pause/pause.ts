import type { DevloopError } from '../../../errors.ts';
import type { Kind, ObjectRef } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Permission } from '../../api/permissions.ts';
import type { Pod, Workload } from '../../api/workloads.ts';
import type { OwnChange } from '../../marks/marks.ts';
import type { Remainder } from '../../marks/undo.ts';
import type { Step } from '../../step.ts';
import type { Work } from '../../work.ts';
import type { RefusedBy } from './refusals.ts';

/** A way to pause the in-cluster manager by a marked change, and to resume it. All of these ways are listed in strategies.ts. */
export interface Pause {
  /** For display: `replicas of the Deployment`. */
  name: string;
  /** The kind of the objects that it changes. Their marks show which managers to resume. */
  kind: Kind;
  /** Whether this way can pause the manager. */
  fits(manager: Manager): boolean;
  permissions(namespace: string): Permission[];
  /** What a pause changes in objects of this kind; nothing else is ever restored in them. */
  own: OwnChange;
  pause(manager: Manager): PauseStep;
  /** Resumes the manager; returns what somebody else changed in the meantime. `seen`: the object as it was read a moment ago. */
  restore(work: Work, ref: ObjectRef, seen?: KubeObject): Promise<Remainder[]>;
  /** Resumes the manager if a webhook that does not answer blocks `restore`; the mark stays. */
  resumeMarked?(work: Work, ref: ObjectRef): Promise<void>;
  /** Finds the API server's message if it last refused the manager's Pods. */
  refusedBy: RefusedBy;
  /** Pauses a manager again if its Pods were refused, so that they are created at once when it is next resumed. */
  pauseAgain?(work: Work, manager: Manager): Promise<void>;
}

export interface PauseStep extends Step<(work: Work) => Promise<PausingManager>> {
  /** Whether the manager's Pods stay up and answer reviews as long as the Services select them. */
  answersReviews: boolean;
}

/** The in-cluster manager, and the object that its Pods belong to. */
export interface Manager {
  /** An object of one of WORKLOAD_KINDS, or one of the Pods if they belong to no such object. */
  ref: ObjectRef;
  object: Workload;
}

/** A manager that is being paused. No promise has to be awaited. */
export interface PausingManager {
  /** Resolves when the manager no longer works on any object, so that the controller can start. */
  idle: Promise<void>;
  /** Resolves when all Pods that have to end are terminating. */
  terminating: Promise<void>;
  /** Resolves to whether all Pods that have to end did so within a minute. */
  ended: Promise<boolean>;
  /** The Pods whose containers have ended for good, as far as devloop has seen it. */
  endedPods?: () => Pod[];
  /** Counts the Pods that have to end, and have not yet; absent if no Pod has to. */
  podsLeft?: () => Promise<number>;
  /** Resumes a manager that is paused without a mark. */
  resume?: (ending: Work) => Promise<void>;
  /** Resolves when the manager is no longer paused, and devloop cannot change that. */
  lost?: Promise<DevloopError>;
}
