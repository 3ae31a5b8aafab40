import type { ClusterApi } from '../cluster/api/client.ts';
import { ApiError } from '../cluster/api/errors.ts';
import { type Kind, kindInfo, type ObjectRef } from '../cluster/api/kinds.ts';
import type { CustomResourceDefinition, Service, WebhookConfiguration } from '../cluster/api/objects.ts';
import { unique, type WebhookCall, type WebhookService, webhookServices } from './match.ts';
import type { CheckoutFacts } from './sources.ts';

/** Every Service that kube-apiserver calls for admission, and for conversion of this checkout's own kinds; that may be read meanwhile. */
export async function listCandidates(
  api: ClusterApi,
  hints: CheckoutFacts | Promise<CheckoutFacts>,
): Promise<WebhookService[]> {
  const [validating, mutating, definitions] = await Promise.all([
    api.list<WebhookConfiguration>('ValidatingWebhookConfiguration', undefined),
    api.list<WebhookConfiguration>('MutatingWebhookConfiguration', undefined),
    convertedDefinitions(api, hints),
  ]);
  return webhookServices(
    [
      ...validating.map((object) => ({ kind: 'ValidatingWebhookConfiguration', object })),
      ...mutating.map((object) => ({ kind: 'MutatingWebhookConfiguration', object })),
    ],
    definitions,
  );
}

/** Who may not read CRDs goes without their conversions: they share the Service of the webhooks nearly always. */
async function convertedDefinitions(
  api: ClusterApi,
  reading: CheckoutFacts | Promise<CheckoutFacts>,
): Promise<CustomResourceDefinition[]> {
  const hints = await reading;
  if (hints.groups.size === 0) return [];
  try {
    const names = (await definitionNames(api)).filter((name) =>
      hints.groups.has(name.slice(name.indexOf('.') + 1)),
    );
    const read = await Promise.all(
      names.map((name) => api.get<CustomResourceDefinition>({ kind: 'CustomResourceDefinition', name })),
    );
    return read
      .filter((definition) => definition !== undefined)
      .filter(({ spec }) => spec.conversion?.strategy === 'Webhook');
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return [];
    throw error;
  }
}

/** CRDs of a big cluster are tens of megabytes: only their names come, as a Table. */
export async function definitionNames(api: ClusterApi): Promise<string[]> {
  const { root, plural } = kindInfo('CustomResourceDefinition');
  const table = await api.call<{ rows?: { cells: unknown[] }[] }>('GET', `${root}/${plural}`, undefined, {
    accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
    query: { includeObject: 'None' },
  });
  return (table.rows ?? []).map((row) => String(row.cells[0]));
}

/** What the configurations that call a Service say now: a caBundle follows its certificate. */
export async function rereadCalls(
  api: ClusterApi,
  { service, calls }: { service: Service; calls: WebhookCall[] },
): Promise<WebhookCall[]> {
  const objects = await Promise.all(
    unique(calls.map((call) => call.from)).map(async (from) => {
      const [kind, name] = from.split(' ') as [Kind, string];
      return { kind, object: await read(api, { kind, name }) };
    }),
  );
  const found = objects.flatMap(({ kind, object }) => (object ? [{ kind, object }] : []));
  const isDefinition = (one: { kind: Kind }): boolean => one.kind === 'CustomResourceDefinition';
  const services = webhookServices(
    found.filter((one) => !isDefinition(one)),
    found.filter(isDefinition).map((one) => one.object),
  );
  const { namespace, name } = service.metadata;
  return services.find((one) => one.namespace === namespace && one.service === name)?.calls ?? calls;
}

/** One that may not be read, or is gone, says nothing. */
async function read(
  api: ClusterApi,
  ref: ObjectRef,
): Promise<(WebhookConfiguration & CustomResourceDefinition) | undefined> {
  return await api.get<WebhookConfiguration & CustomResourceDefinition>(ref).catch(() => undefined);
}
