import { refOf } from '../../cluster/api/kinds.ts';
import type { KubeObject, Service } from '../../cluster/api/objects.ts';
import { writerOf } from '../../cluster/marks/observe.ts';
import type { Work } from '../../cluster/work.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ObstacleField } from '../../report/notices/guard.ts';

/** What the guard remembers of one Service. */
export interface Callable {
  /** The field that is in the way; undefined if there is none. */
  obstacle?: ObstacleField;
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
  const field = obstacleOf(service);
  if (field === undefined) memory.type = service.spec.type ?? CLUSTER_IP;
  if (field === memory.obstacle) return;
  memory.obstacle = field;
  if (field === undefined) {
    emit(notice('guard.callable-again', { service: ref }));
    return;
  }
  const by = writerOf(service, field.split('.'));
  const before = memory.type ?? CLUSTER_IP;
  emit(notice('guard.uncallable', { service: ref, field, ...(by && { by }), before }));
}

const CLUSTER_IP = 'ClusterIP';

/** The field that is in the way; undefined if there is none. */
function obstacleOf({ spec }: Service): ObstacleField | undefined {
  if (spec.type === 'ExternalName') return 'spec.type';
  if (spec.clusterIP === 'None') return 'spec.clusterIP';
  return spec.internalTrafficPolicy === 'Local' ? 'spec.internalTrafficPolicy' : undefined;
}
