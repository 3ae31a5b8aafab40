import type { ChangeAction, ObjectName } from '../../report/events.ts';
import type { Permission } from '../api/permissions.ts';
import type { Work } from '../work.ts';

/**
 * One part of a take-over that changes the cluster. `up --dry-run` prints its changes, `up` asks for its permissions before the
 * first write and then applies it, so the three cannot differ. `Apply` is a function of a `Work` and of what only becomes known on
 * the way, the address of a route for example.
 */
export interface Step<Apply = (work: Work) => Promise<void>> {
  changes: PlannedChange[];
  permissions: Permission[];
  apply: Apply;
}

/** In the object's name, `<session>` (ANY_SESSION) stands for the session's id, and `*` for what is not known yet. */
export interface PlannedChange {
  action: ChangeAction;
  object: ObjectName;
  detail: string;
}
