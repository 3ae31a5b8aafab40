import type { ClusterApi } from '../cluster/api/client.ts';
import { ApiError } from '../cluster/api/errors.ts';
import type { ApiService, Deployment, Service } from '../cluster/api/objects.ts';
import { isSelectedBy, originalSelector } from './workload.ts';

/** Who may not read them is told of none. */
export async function listApiServices(api: ClusterApi): Promise<ApiService[]> {
  return await api.list<ApiService>('APIService', undefined).catch(nothing);
}

/** Those of `all` that kube-apiserver forwards to Pods of this Deployment: nobody serves them while it is quiet. */
export async function servedApis(
  api: ClusterApi,
  deployment: Deployment,
  all: ApiService[],
): Promise<string[]> {
  const { namespace } = deployment.metadata;
  const here = all.filter(({ spec }) => spec.service !== undefined && spec.service.namespace === namespace);
  if (here.length === 0) return [];
  const services = await api.list<Service>('Service', namespace).catch(nothing);
  const its = services.filter((service) => isSelectedBy(deployment, originalSelector(service)));
  return here
    .filter(({ spec }) => its.some(({ metadata }) => metadata.name === spec.service!.name))
    .map(({ metadata }) => metadata.name);
}

function nothing(error: unknown): [] {
  if (error instanceof ApiError) return [];
  throw error;
}
