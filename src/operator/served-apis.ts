/** APIs of the cluster that kube-apiserver forwards to a manager's Pods, and webhooks that it calls through them. */

import type { CheckoutFacts } from '../checkout/facts.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfRefused, undefinedIfForbidden } from '../cluster/api/errors.ts';
import type { ApiService, Service } from '../cluster/api/objects.ts';
import type { WebhookCall, WebhookService } from './webhooks.ts';
import { type FoundWorkload, serves } from './workload.ts';

/** An API that the manager's Pods answer. */
export interface ServedApi {
  /** The name of the APIService: `v1.admission.example.com`. */
  name: string;
  /** The name of the Service behind the API, in the manager's namespace. */
  service: string;
  /** The webhooks that reach the manager through this API. */
  calls: WebhookCall[];
}

/** All APIs of the cluster that a manager may serve, and the webhook calls that may be made through them. */
export interface ApiListing {
  apis: ApiService[];
  /** The calls of webhooks to kube-apiserver's own Service. */
  calls: WebhookCall[];
}

/** All APIServices; an empty list if the API server refuses to list them. */
export async function listApiServices(api: ClusterApi): Promise<ApiService[]> {
  return await api.list<ApiService>('APIService', undefined).catch(noneIfRefused);
}

/** Whether this is kube-apiserver's own Service. A webhook that calls it is meant for an API behind it. */
export function isOfApiServer({ namespace, name }: Pick<WebhookService, 'namespace' | 'name'>): boolean {
  return namespace === 'default' && name === 'kubernetes';
}

/** The APIServices through which webhooks for the checkout's own kinds are called. */
export function apisOfCheckout(
  { apis, calls }: ApiListing,
  { groups }: Pick<CheckoutFacts, 'groups'>,
): ApiService[] {
  const own = calls.filter((call) => call.groups.some((group) => groups.has(group)));
  return [...new Set(own.flatMap((call) => apiBehind(call, apis) ?? []))];
}

/** The APIService that a call goes through; undefined if kube-apiserver serves the API itself. */
function apiBehind({ path }: WebhookCall, apis: ApiService[]): ApiService | undefined {
  const [, group, version] = /^\/apis\/([^/]+)\/([^/]+)\//.exec(path) ?? [];
  const found = apis.find(({ metadata }) => metadata.name === `${version}.${group}`);
  return found?.spec.service && found;
}

/** The APIs that the manager's Pods serve. */
export async function servedApis(
  api: ClusterApi,
  { object }: Pick<FoundWorkload, 'object'>,
  listing: ApiListing,
): Promise<ServedApi[]> {
  const { namespace } = object.metadata;
  if (!listing.apis.some(({ spec }) => spec.service?.namespace === namespace)) return [];
  const services = await api.list<Service>('Service', namespace).catch(noneIfRefused);
  return apisBehind(
    services.filter((one) => serves(one, object)),
    listing,
  );
}

function apisBehind(services: Service[], { apis, calls }: ApiListing): ServedApi[] {
  return apis.flatMap((one): ServedApi[] => {
    const { namespace, name } = one.spec.service ?? {};
    const isBehind = ({ metadata }: Service): boolean =>
      metadata.namespace === namespace && metadata.name === name;
    if (name === undefined || !services.some(isBehind)) return [];
    return [
      {
        name: one.metadata.name,
        service: name,
        calls: calls.filter((call) => apiBehind(call, apis) === one),
      },
    ];
  });
}

/**
 * Whether the Deployment's Pods answer webhooks or serve an API, which would fail without them. Also true if the account is not allowed to
 * find out.
 */
export async function isNeededByOthers(
  api: ClusterApi,
  { ref, object }: FoundWorkload,
  {
    webhookServices,
    ...listing
  }: ApiListing & { webhookServices: Pick<WebhookService, 'namespace' | 'name'>[] },
): Promise<boolean> {
  const listed = await api.list<Service>('Service', ref.namespace).catch(undefinedIfForbidden);
  if (listed === undefined) return true;
  const own = listed.filter((service) => serves(service, object));
  const isCalled = ({ metadata: { namespace, name } }: Service): boolean =>
    webhookServices.some((one) => one.name === name && one.namespace === namespace);
  return own.some(isCalled) || apisBehind(own, listing).length > 0;
}
