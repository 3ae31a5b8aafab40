import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfRefused } from '../cluster/api/errors.ts';
import type { ApiService, Service } from '../cluster/api/objects.ts';
import { originalSelector } from '../cluster/marks/selector.ts';
import type { Emit } from '../report/events.ts';
import type { TargetManager } from './target.ts';
import { isSelectedBy } from './workload.ts';

/** None for an account that is not allowed to list them. */
export async function listApiServices(api: ClusterApi): Promise<ApiService[]> {
  return await api.list<ApiService>('APIService', undefined).catch(noneIfRefused);
}

/** Warns of APIs that kube-apiserver forwards to the manager's Pods. */
export async function reportServedApis(
  api: ClusterApi,
  manager: TargetManager,
  all: ApiService[],
  emit: Emit,
): Promise<void> {
  const { ref } = manager;
  const names = await servedApis(api, manager, all);
  if (names.length === 0) return;
  emit({
    type: 'warning',
    message: `${ref.kind} ${ref.name} also backs APIService ${names.join(', ')}, which is unavailable while the ${ref.kind} is paused.`,
    hint: 'If the controller fails here with "unable to load in-cluster configuration", turn that API off in its configuration.',
  });
}

async function servedApis(api: ClusterApi, { object }: TargetManager, all: ApiService[]): Promise<string[]> {
  const { namespace } = object.metadata;
  const nearby = all.filter(({ spec }) => spec.service !== undefined && spec.service.namespace === namespace);
  if (nearby.length === 0) return [];
  const services = await api.list<Service>('Service', namespace).catch(noneIfRefused);
  const own = services.filter((service) => isSelectedBy(object, originalSelector(service)));
  return nearby
    .filter(({ spec }) => own.some(({ metadata }) => metadata.name === spec.service!.name))
    .map(({ metadata }) => metadata.name);
}
