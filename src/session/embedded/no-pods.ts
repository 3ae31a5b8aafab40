import { hasFailed, type ReconcileCall } from '../../report/call.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

const RUN_PODS = new Set(['deployments', 'statefulsets', 'daemonsets', 'jobs', 'cronjobs', 'pods']);
const WRITES = new Set(['create', 'update', 'patch', 'apply']);

/** Says once, about the first workload that the controller writes, that nothing runs its Pods. */
export function createPodsNotice(emit: Emit): (event: DevloopEvent) => void {
  let isSaid = false;
  return (event) => {
    if (isSaid || (event.type !== 'reconcile' && event.type !== 'call')) return;
    const write = (event.type === 'call' ? [event] : event.calls).find(isWorkload);
    if (write === undefined) return;
    isSaid = true;
    const { kind = '', namespace, name = '' } = write;
    emit(notice('embedded.no-pods', { kind, namespace, name }));
  };
}

function isWorkload(call: ReconcileCall): boolean {
  const { verb, resource = '', kind, name } = call;
  return WRITES.has(verb) && RUN_PODS.has(resource) && !hasFailed(call) && kind !== undefined && !!name;
}
