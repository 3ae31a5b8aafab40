/** The operator's own webhooks that block its restore while nothing answers them. */
import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfForbidden } from '../cluster/api/errors.ts';
import {
  apiGroupOf,
  isWorkload,
  kindInfo,
  type ObjectRef,
  refOf,
  relationsOf,
  WORKLOAD_KINDS,
} from '../cluster/api/kinds.ts';
import { type Labels, selects } from '../cluster/api/labels.ts';
import type { KubeObject, LabelSelector, WebhookConfiguration } from '../cluster/api/objects.ts';
import type { Workload } from '../cluster/api/workloads.ts';
import { shellQuoted, shellWord } from '../phrases.ts';
import { describe } from '../report/object-name.ts';
import type { Configuration } from './webhooks.ts';

/** A webhook with failurePolicy Fail that reviews what a restore writes. */
export interface ClosedWebhook {
  /** The configuration that contains the webhook. */
  from: ObjectRef;
  name: string;
  /** Whether it reviews only Deployments or StatefulSets, whose replicas can be restored without it, through the subresource `scale`. */
  isScalable: boolean;
  /** Whether it has matchConditions, which only the API server can evaluate. */
  isUncertain: boolean;
}

const SCALABLE = new Set(
  WORKLOAD_KINDS.filter((kind) => relationsOf(kind).isScaled).map((kind) => kindInfo(kind).plural),
);

/** A Service or a workload that a session took over; `object` is absent if it is known only from the session's Lease. */
export interface TakenObject {
  ref: ObjectRef;
  object?: KubeObject;
}

/**
 * The operator's webhooks that can block its restore. `configurations`: all webhook configurations of the cluster. Resolves to an empty
 * list if the account is not allowed to list them; the API server's refusal of a write then names the first webhook.
 */
export async function closedWebhooks(
  api: ClusterApi,
  taken: TakenObject[],
  configurations: Promise<Configuration[]>,
): Promise<ClosedWebhook[]> {
  const namespaces = [...new Set(taken.flatMap(({ ref }) => ref.namespace ?? []))];
  const read = namespaces.map((name) => api.get({ kind: 'Namespace', name }).catch(() => undefined));
  const [listed, places] = await Promise.all([configurations.catch(noneIfForbidden), Promise.all(read)]);
  const labels = new Map(namespaces.map((name, index) => [name, labelsOfNamespace(name, places[index])]));
  return listed.flatMap(({ kind, object }) =>
    (object.webhooks ?? [])
      .filter((webhook) => webhook.failurePolicy !== 'Ignore' && calls(webhook, taken))
      .flatMap((webhook): ClosedWebhook[] => {
        const writes = writesFor(taken).filter((write) =>
          reviews(webhook, write, labels.get(write.namespace)!),
        );
        if (writes.length === 0) return [];
        return [
          {
            from: refOf(kind, object.metadata),
            name: webhook.name,
            isScalable: writes.every(({ resource }) => SCALABLE.has(resource)),
            isUncertain: (webhook.matchConditions ?? []).length > 0,
          },
        ];
      }),
  );
}

/** One command that sets the failurePolicy of all these webhooks. */
export function policyCommand(
  context: string,
  closed: ClosedWebhook[],
  failurePolicy: 'Ignore' | 'Fail',
): string {
  const configurations = Map.groupBy(closed, ({ from }) => describe(from));
  const patches = [...configurations.values()].map((webhooks) => {
    const { kind, name } = webhooks[0]!.from;
    const patch = JSON.stringify({ webhooks: webhooks.map((one) => ({ name: one.name, failurePolicy })) });
    return `kubectl --context ${shellWord(context)} patch ${kind.toLowerCase()} ${shellWord(name)} -p ${shellQuoted(patch)}`;
  });
  return patches.join(' && ');
}

type Webhook = NonNullable<WebhookConfiguration['webhooks']>[number];

function calls({ clientConfig: { service } }: Webhook, taken: TakenObject[]): boolean {
  return taken.some(
    ({ ref }) => ref.kind === 'Service' && ref.namespace === service?.namespace && ref.name === service?.name,
  );
}

interface KnownLabels {
  known: Labels;
  /** Whether `known` contains all labels. */
  complete: boolean;
}

const UNKNOWN: KnownLabels = { known: {}, complete: false };

/** Kubernetes puts the name of each namespace in one of the namespace's labels. */
function labelsOfNamespace(name: string, namespace: KubeObject | undefined): KnownLabels {
  const known = { 'kubernetes.io/metadata.name': name, ...namespace?.metadata.labels };
  return { known, complete: namespace !== undefined };
}

/** One write of a restore, by devloop or by Kubernetes as a consequence; `resource` as in a rule: `deployments/scale`. */
interface Write {
  group: string;
  resource: string;
  operation: string;
  namespace: string;
  labels: KnownLabels;
}

function writesFor(taken: TakenObject[]): Write[] {
  return taken.flatMap(({ ref, object }) => {
    const write = (group: string, resource: string, operation: string, labels = UNKNOWN): Write => {
      return { group, resource, operation, namespace: ref.namespace ?? '', labels };
    };
    const own = object && all(object.metadata.labels);
    if (ref.kind === 'Service')
      return [
        write('', 'services', 'UPDATE', own),
        write('', 'endpoints', 'UPDATE'),
        ...['CREATE', 'UPDATE', 'DELETE'].map((one) => write('discovery.k8s.io', 'endpointslices', one)),
      ];
    const ofPods = object && all((object as Workload).spec.template?.metadata?.labels);
    const [group, { plural }] = [apiGroupOf(ref.kind), kindInfo(ref.kind)];
    const { resumed } = isWorkload(ref.kind) ? relationsOf(ref.kind) : { resumed: [] };
    return [
      ...(isWorkload(ref.kind)
        ? [write(group, plural, 'UPDATE', own), write(group, `${plural}/scale`, 'UPDATE')]
        : []),
      ...resumed.flatMap(({ kind, operations }) =>
        operations.map((one) => write(apiGroupOf(kind), kindInfo(kind).plural, one, ofPods)),
      ),
      write('', 'pods', 'CREATE', ofPods),
      // The kubelet requests a token before it starts a Pod.
      write('', 'serviceaccounts/token', 'CREATE'),
    ];
  });
}

function all(labels: Labels | undefined): KnownLabels {
  return { known: labels ?? {}, complete: true };
}

function reviews(
  { rules, objectSelector, namespaceSelector }: Webhook,
  write: Write,
  place: KnownLabels,
): boolean {
  const isCovered = (rules ?? []).some(
    ({ apiGroups = [], resources = [], operations = [] }) =>
      has(apiGroups, write.group) &&
      has(operations, write.operation) &&
      resources.some((one) => coversResource(one, write.resource)),
  );
  const mayBeSelected = (selector: LabelSelector | undefined, { known, complete }: KnownLabels): boolean =>
    selects(selector, known, complete);
  return isCovered && mayBeSelected(objectSelector, write.labels) && mayBeSelected(namespaceSelector, place);
}

function has(list: string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}

/** Compares as the API server does: `*` covers every resource but no subresource, whereas `pods/*` also covers the Pods themselves. */
function coversResource(rule: string, resource: string): boolean {
  const [ruled, ruledSub = ''] = rule.split('/');
  const [name, sub = ''] = resource.split('/');
  return (ruled === '*' || ruled === name) && (ruledSub === '*' || ruledSub === sub);
}
