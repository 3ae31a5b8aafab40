import { shellWord } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What a restore leaves to the user, and how the manager comes back. */
export const ENDING = {
  /** Somebody else changed a field during the session, so devloop left it. null stands for an absent value. `command` restores it. */
  'restore.kept': warning<{
    object: ObjectName;
    field: string;
    now: unknown;
    before: unknown;
    command: string;
  }>(
    ({ object, field, now, before }) =>
      `${describe(object)}: ${field} was changed by somebody else to ${JSON.stringify(now)}, so devloop left it unchanged. Before the session it was ${JSON.stringify(before)}.`,
    ({ command }) => command,
  ),
  /** The undo of an object is missing or invalid, so devloop left the object. `command` removes what the session left in it; absent if the object has lost its label. */
  'restore.undo-broken': warning<{ object: ObjectName; fault: string; command?: string }>(
    ({ object, fault, command }) =>
      command === undefined
        ? `${describe(object)} ${fault}, but has lost devloop's labels, so devloop cannot restore it. It was left unchanged.`
        : `${describe(object)} has devloop's label, but ${fault}. It was left unchanged.`,
    ({ command }) =>
      command === undefined
        ? 'Restore it by hand: deploy the operator again.'
        : `Restore it by hand (deploy the operator again), then: ${command}`,
  ),
  /** `up` failed, and restoring the cluster failed, too. `error`: the code of that failure, unless it is a bug. */
  'restore.incomplete': warning<{ error?: string; cause: string }>(
    ({ cause }) => `Not everything could be restored: ${cause}`,
    () => 'devloop down',
  ),
  /** A failure besides the command's error. `error`: its code, unless it is a bug. `next`: what to do. */
  'error.further': warning<{ error?: string; cause: string; next?: string }>(
    ({ cause }) => cause,
    ({ next }) => next,
  ),
  /** In a dry run: `up` would first restore what a dead session left. */
  'restore.would-be-first': note<{ session: string }>(
    ({ session }) =>
      `devloop up would first restore what session ${session} left. To see it: \`devloop down --dry-run\``,
  ),
  /** The manager cannot create Pods while its webhook is unreachable, so the Service is restored before it. */
  'restore.service-first': note<{ manager: ObjectName; cause: string }>(
    ({ manager, cause }) =>
      `${describe(manager)} cannot create Pods while a webhook is unreachable, so the Service is restored first. (${cause})`,
  ),
  /** The manager is not ready after the session, as before it. */
  'manager.unready-as-before': warning<{ manager: ObjectName; cause: string }>(
    ({ manager, cause }) =>
      `${describe(manager)} is resumed, and is not ready, as before the session: ${cause}`,
  ),
  /** The manager was not ready in time, so devloop restores the rest without waiting for it. */
  'manager.not-ready': warning<{ manager: ObjectName; seconds: number }>(
    ({ manager, seconds }) =>
      `${describe(manager)} was not ready within ${seconds} s; restoring everything else anyway.`,
    ({ manager: { kind, namespace, name } }) =>
      `kubectl -n ${shellWord(namespace)} describe ${kind.toLowerCase()} ${shellWord(name)}`,
  ),
};
