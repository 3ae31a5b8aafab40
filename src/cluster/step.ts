import type { ChangeAction } from '../report/events.ts';
import type { ObjectRef } from './api/kinds.ts';
import type { Permission } from './api/permissions.ts';
import type { Work } from './work.ts';

/**
 * One part of a takeover that changes the cluster. `up --dry-run` prints its changes; `up` asks for its permissions (also those
 * for restoring it) before the first write, and then applies it. `Apply` is a function of a `Work` and of what is not known
 * earlier, the address of a route for example.
 */
export interface Step<Apply = (work: Work) => Promise<void>> {
  changes: PlannedChange[];
  permissions: Permission[];
  apply: Apply;
}

/** In the object's name, `<session>` (ANY_SESSION) stands for the session's id, and `*` for what is not known yet. */
export interface PlannedChange {
  action: ChangeAction;
  object: ObjectRef;
  detail: string;
  /** An object of devloop's own that is gone when the command ends. */
  temporary?: true;
}
