import { shellQuoted, shellWord, type WriterNames, writerText } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What others do to the session's objects, and what the guard cannot do about it. */
export const GUARD = {
  /** devloop cannot watch one of its objects, so it does not notice when somebody overwrites it. */
  'guard.not-watched': warning<{ object: ObjectName; cause: string }>(
    ({ object, cause }) =>
      `devloop does not notice when somebody overwrites its changes to ${describe(object)}: ${cause}`,
  ),
  /** Somebody overwrote devloop's change, and it could not be written again. devloop keeps trying. */
  'guard.not-written': warning<{ object: ObjectName; cause: string }>(
    ({ object, cause }) => `${describe(object)} could not be written again: ${cause} devloop keeps trying.`,
  ),
  /** Somebody overwrites devloop's change again and again. The session does not need it, so devloop leaves it to them. `cause`: the text of the error with this code. */
  'guard.gave-up': warning<{ object: ObjectName; error: string; cause: string }>(({ cause }) => cause),
  /** A webhook configuration or CRD was deleted, or no longer calls the controller. */
  'guard.caller-gone': warning<{ caller: ObjectName }>(
    ({ caller }) => `${describe(caller)} was deleted, or no longer calls the controller.`,
  ),
  /** Somebody changed a field of a Service so that kube-apiserver cannot call this machine through it. The field is the user's, so devloop leaves it. `before`: the last type of the Service with which it could. */
  'guard.uncallable': warning<Uncallable>(
    ({ service, field, by }) => {
      const { verb, effect } = OBSTACLES[field];
      return `${by === undefined ? 'Somebody' : writerText(by)} ${verb} ${describe(service)} ${effect}`;
    },
    (values) => OBSTACLES[values.field].next(values),
  ),
  /** kube-apiserver can call this machine through the Service again. */
  'guard.callable-again': note<{ service: ObjectName }>(
    ({ service }) => `kube-apiserver can call ${describe(service)} again.`,
  ),
};

export const DEPLOY_AGAIN = 'Deploy the operator again, then run devloop up.';

interface Uncallable {
  service: ObjectName;
  field: ObstacleField;
  /** Who wrote the field, if managedFields names them. */
  by?: WriterNames;
  /** The last type of the Service with which it could be called. */
  before: string;
}

export type ObstacleField = 'spec.type' | 'spec.clusterIP' | 'spec.internalTrafficPolicy';

interface Obstacle {
  /** The words between the writer and the name of the Service. */
  verb: string;
  /** The words after the name. */
  effect: string;
  next(values: Uncallable): string;
}

const OBSTACLES: Record<ObstacleField, Obstacle> = {
  'spec.type': {
    verb: 'changed',
    effect:
      'to type ExternalName: kube-apiserver calls the external name, and reviews no longer reach this machine.',
    next: ({ service, before }) => patch(service, { type: before }),
  },
  'spec.clusterIP': {
    verb: 'made',
    effect: 'headless: without endpoint routing, reviews no longer reach this machine.',
    next: ({ service }) => `${kubectl(service)} delete service ${shellWord(service.name)}\n${DEPLOY_AGAIN}`,
  },
  'spec.internalTrafficPolicy': {
    verb: 'changed',
    effect: 'to internalTrafficPolicy Local: reviews may no longer reach this machine, which is not a node.',
    next: ({ service }) => patch(service, { internalTrafficPolicy: 'Cluster' }),
  },
};

function kubectl({ namespace }: ObjectName): string {
  return `kubectl -n ${shellWord(namespace)}`;
}

function patch(service: ObjectName, fields: object): string {
  return `${kubectl(service)} patch service ${shellWord(service.name)} -p ${shellQuoted(JSON.stringify({ spec: fields }))}`;
}
