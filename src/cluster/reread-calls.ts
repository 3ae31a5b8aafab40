import type { ClusterApi } from './api.ts';
import { unique, type WebhookCall, webhookServices } from './candidates.ts';
import type { TargetService } from './discover.ts';
import type { CustomResourceDefinition, WebhookConfiguration } from './objects.ts';
import type { Kind, ObjectRef } from './resources.ts';

/** What the configurations that call a Service say now: a caBundle follows its certificate. */
export async function rereadCalls(
  api: ClusterApi,
  { service, calls }: TargetService,
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
