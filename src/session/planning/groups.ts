import type { ClusterApi } from '../../cluster/api/client.ts';
import type { ApiService } from '../../cluster/api/objects.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** The groups that kube-apiserver serves itself. */
const OWN_GROUPS = new Set(
  [
    ...[',apps,autoscaling,batch,extensions,policy,admissionregistration.k8s.io,apiextensions.k8s.io'],
    ...[
      'apiregistration.k8s.io,authentication.k8s.io,authorization.k8s.io,certificates.k8s.io,coordination.k8s.io',
    ],
    ...['discovery.k8s.io,events.k8s.io,flowcontrol.apiserver.k8s.io,networking.k8s.io,node.k8s.io'],
    ...['rbac.authorization.k8s.io,resource.k8s.io,scheduling.k8s.io,storage.k8s.io,storagemigration.k8s.io'],
  ].flatMap((some) => some.split(',')),
);

/** Whether another server answers for a group. One that nobody can look up counts as such. */
export async function aggregated(api: ClusterApi, emit: Emit): Promise<(group: string) => boolean> {
  try {
    const services = await api.list<ApiService>('APIService', undefined);
    const groups = new Set(services.filter(({ spec }) => spec.service).map(({ spec }) => spec.group ?? ''));
    return (group) => groups.has(group);
  } catch (error) {
    emit(notice('plan.groups-unknown', { cause: String((error as Error).message) }));
    return (group) => !OWN_GROUPS.has(group);
  }
}
