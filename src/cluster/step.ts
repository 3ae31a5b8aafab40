import type { ChangeAction } from '../report/change.ts';
import type { ObjectRef } from './api/kinds.ts';
import type { Permission } from './api/permissions.ts';
import type { Work } from './work.ts';

/**
 * One part of a takeover that changes the cluster. `up --dry-run` prints its changes; `up` checks its permissions (including those for
 * restoring the change) before the first write, and then applies it. `Apply` takes a `Work` and whatever is not known earlier, such as the
 * address of a route.
 */
export interface Step<Apply = (work: Work) => Promise<void>> {
  changes: PlannedChange[];
  permissions: Permission[];
  apply: Apply;
}

/** In the object's name, `<session>` (ANY_SESSION) stands for the session's id, and `*` for a part that is not known yet. */
export interface PlannedChange {
  action: ChangeAction;
  object: ObjectRef;
  detail: string;
  /** Set for an object of devloop's own that is gone when the command ends. */
  temporary?: true;
}
