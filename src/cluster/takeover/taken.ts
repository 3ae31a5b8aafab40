import type { ObjectRef } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';

/** What a session took over, and how it reads more about it. */
export interface TakenObjects {
  sessionId: string;
  /** The Services and the workloads, as they were read. */
  objects: TakenObject[];
  /** Resolves to undefined if there is no such object, or it cannot be read. */
  read(ref: ObjectRef): Promise<KubeObject | undefined>;
}

export interface TakenObject {
  ref: ObjectRef;
  object: KubeObject;
  /** A later version of the object, which is also the user's. */
  now?: KubeObject;
}
