import { type ObjectRef, refOf } from '../../cluster/api/kinds.ts';
import type { KubeObject, Service } from '../../cluster/api/objects.ts';
import { writerOf } from '../../cluster/marks/observe.ts';
import type { Work } from '../../cluster/work.ts';
import { shellQuoted, shellWord, writerText } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import { DEPLOY_AGAIN } from './causes.ts';

/** A change by others to a Service that keeps kube-apiserver from calling this machine through it. */
interface Obstacle {
  path: string[];
  /** The warning's words between the writer and the name of the Service, and those after the name. */
  text: [verb: string, rest: string];
  hint: string;
}

/** What the guard remembers of one Service. */
export interface Callable {
  /** The field that is in the way; undefined if there is none. */
  obstacle?: string | undefined;
  /** The last type of the Service while it was callable. */
  type?: string;
}

/**
 * Warns if a Service that the session took over can no longer be called, although everything that devloop changed in it is still there. The
 * fields that prevent the calls are the user's, so devloop does not write them.
 */
export function noticeObstacle({ emit }: Work, memory: Callable, object: KubeObject): void {
  const service = object as Service;
  const ref = refOf('Service', service.metadata);
  const found = obstacleOf(ref, service, memory.type);
  if (found === undefined) memory.type = service.spec.type ?? CLUSTER_IP;
  const now = found?.path.join('.');
  if (now === memory.obstacle) return;
  memory.obstacle = now;
  if (found === undefined) emit({ type: 'note', message: `kube-apiserver can call ${describe(ref)} again.` });
  else emit({ type: 'warning', message: textOf(ref, service, found), hint: found.hint });
}

function textOf(ref: ObjectRef, service: Service, { path, text: [verb, rest] }: Obstacle): string {
  const by = writerOf(service, path);
  return `${by === undefined ? 'Somebody' : writerText(by)} ${verb} ${describe(ref)} ${rest}`;
}

const CLUSTER_IP = 'ClusterIP';

function obstacleOf(ref: ObjectRef, { spec }: Service, type = CLUSTER_IP): Obstacle | undefined {
  const kubectl = `kubectl -n ${shellWord(ref.namespace)}`;
  const patch = (fields: object): string =>
    `${kubectl} patch service ${ref.name} -p ${shellQuoted(JSON.stringify({ spec: fields }))}`;
  if (spec.type === 'ExternalName')
    return {
      path: ['spec', 'type'],
      text: [
        'changed',
        'to type ExternalName: kube-apiserver calls the external name, and reviews no longer reach this machine.',
      ],
      hint: patch({ type }),
    };
  if (spec.clusterIP === 'None')
    return {
      path: ['spec', 'clusterIP'],
      text: ['made', 'headless: without endpoint routing, reviews no longer reach this machine.'],
      hint: `${kubectl} delete service ${ref.name}\n${DEPLOY_AGAIN}`,
    };
  if (spec.internalTrafficPolicy === 'Local')
    return {
      path: ['spec', 'internalTrafficPolicy'],
      text: [
        'changed',
        'to internalTrafficPolicy Local: reviews may no longer reach this machine, which is not a node.',
      ],
      hint: patch({ internalTrafficPolicy: 'Cluster' }),
    };
  return undefined;
}
