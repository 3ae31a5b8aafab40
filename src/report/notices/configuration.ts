import { firstOf } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What becomes of changed ConfigMaps and Secrets of the manager while a session runs. */
export const CONFIGURATION = {
  /** The files at these mount points of the Pod have changed, and so have the controller's copies. */
  'configuration.updated': note<{ objects: ObjectName[]; paths: string[] }>(
    ({ objects, paths }) =>
      `${namesOf(objects)} changed, and so did the controller's files of ${firstOf(paths)}, all at once as in a Pod.`,
  ),
  /** These variables of the controller change at its next start, as in a Pod. Once for the same objects. */
  'configuration.variables': note<{ objects: ObjectName[]; variables: string[] }>(
    ({ objects, variables }) =>
      `${namesOf(objects)} changed: as in a Pod, the controller gets its new variables at its next start (${firstOf(variables)}).`,
  ),
  /** The file or directory at this mount point changes at the controller's next start. Once for each. */
  'configuration.sub-path': note<{ objects: ObjectName[]; path: string }>(
    ({ objects, path }) =>
      `${namesOf(objects)} changed: ${path} is mounted with subPath, which a running Pod does not see change, so the controller gets it at its next start.`,
  ),
  /** A ConfigMap or Secret that the manager needs was deleted. */
  'configuration.deleted': warning<{ object: ObjectName }>(
    ({ object }) =>
      `${describe(object)} was deleted. The controller keeps its last copy, but a new Pod of the manager would not start without it.`,
  ),
  /** Changes of a ConfigMap or Secret are not noticed. */
  'configuration.not-watched': warning<{ object: ObjectName; cause: string }>(
    ({ object, cause }) =>
      `When ${describe(object)} changes, the controller does not get it until the next \`devloop up\`: ${cause}`,
  ),
  /** What has changed could not be given to the controller. devloop keeps trying. */
  'configuration.not-updated': warning<{ cause: string }>(
    ({ cause }) =>
      `The controller does not have the changed ConfigMaps and Secrets yet: ${cause} devloop keeps trying.`,
  ),
};

function namesOf(objects: ObjectName[]): string {
  return firstOf(objects.map(describe));
}
