import type { CheckoutFacts } from '../checkout/facts.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfForbidden } from '../cluster/api/errors.ts';
import { type Kind, refOf, WORKLOAD_KINDS } from '../cluster/api/kinds.ts';
import { hasLabels, type Labels, labelQuery } from '../cluster/api/labels.ts';
import type { Service } from '../cluster/api/objects.ts';
import { controllerOf, ownsPod } from '../cluster/api/ownership.ts';
import type { Pod, Workload } from '../cluster/api/workloads.ts';
import { isSelectorless, originalSelector } from '../cluster/marks/selector.ts';
import { DevloopError } from '../errors.ts';
import { describe } from '../report/object-name.ts';
import { BUILT_IN_PATH } from './match.ts';
import { hintOfMissing } from './missing.ts';
import { bestOf, similarWorkload, unselectedManager } from './rivals.ts';
import { type ChosenService, splitName, type TargetManager, type TargetNames } from './target.ts';
import type { WebhookCall, WebhookService } from './webhooks.ts';
import { type FoundWorkload, isSelectedBy, managerContainer, runsImage, serves } from './workload.ts';

/** The manager, before its container is chosen. */
export type LocatedManager = Omit<TargetManager, 'container'>;

/**
 * Finds webhook Services that select the manager's Pods and nothing else, whatever their paths (even `/`), because nothing would answer
 * their webhooks while the manager is paused.
 */
export async function otherServicesOf(
  api: ClusterApi,
  located: LocatedManager,
  { listed, chosen }: { listed: WebhookService[]; chosen: ChosenService[] },
): Promise<ChosenService[]> {
  const { ref } = located;
  const { namespace = '' } = ref;
  const others = listed.filter(
    (one) => one.namespace === namespace && chosen.every(({ service }) => service.metadata.name !== one.name),
  );
  if (others.length === 0) return [];
  const [deployments, rest, ...services] = await Promise.all([
    list(api, ['Deployment'], namespace),
    list(api, OTHERS, namespace).catch(noneIfForbidden),
    ...others.map(({ name }) => api.get<Service>({ kind: 'Service', namespace, name })),
  ]);
  const rivals = [...deployments, ...rest].filter((one) => describe(one.ref) !== describe(ref));
  return services.flatMap((service, index): ChosenService[] => {
    if (service === undefined) return [];
    const selector = originalSelector(service);
    if (!hasPodsIn(located, selector) || rivals.some((one) => isSelectedBy(one.object, selector))) return [];
    return [{ webhooks: others[index]!, service, source: `selects the Pods of ${ref.kind} ${ref.name}` }];
  });
}

/** Whether a selector selects the manager's Pods. */
export function hasPodsIn(
  { object, podLabels = {} }: Pick<LocatedManager, 'object' | 'podLabels'>,
  selector: Labels,
): boolean {
  return isSelectedBy(object, selector) || hasLabels(podLabels, selector);
}

export function withContainer(located: LocatedManager, chosen: ChosenService[]): TargetManager {
  return { ...located, container: managerContainer(located.object, chosen.flatMap(calledPorts)) };
}

interface Wanted {
  listed: WebhookService[];
  chosen: ChosenService[];
  names: TargetNames;
  /** Whether all workloads there are the checkout's. */
  isAlone: boolean;
}

/** The in-cluster manager: the workload that the user named, else the one whose Pods the Service selects, else one with a similar name. */
export async function findManager(
  api: ClusterApi,
  { listed, chosen, names, isAlone }: Wanted,
  facts: CheckoutFacts,
): Promise<LocatedManager | undefined> {
  const service = (chosen.find((one) => !isSelectorless(one.service)) ?? chosen[0])?.service;
  if (names.deployment !== undefined) {
    const namespace = service?.metadata.namespace ?? names.namespace ?? api.namespace;
    return {
      ...(await namedWorkload(api, { ...names, deployment: names.deployment }, namespace)),
      source: 'named by you',
    };
  }
  if (service === undefined) return await unservedManager(api, { listed, names, isAlone }, facts);
  const { name, namespace } = service.metadata;
  if (isSelectorless(service)) {
    const workloads = [
      ...(await list(api, ['Deployment'], namespace)),
      ...(await list(api, OTHERS, namespace).catch(noneIfForbidden)),
    ];
    return unselectedManager(workloads, { service, ports: chosen.flatMap(calledPorts) }, facts);
  }
  const isSelected = ({ object }: FoundWorkload): boolean => serves(service, object);
  const all = await list(api, ['Deployment'], namespace);
  if (!all.some(isSelected)) all.push(...(await list(api, OTHERS, namespace)));
  const selected = all.filter(isSelected);
  if (selected.length === 0) {
    const behind = await podBehind(api, service, all);
    if (behind || !isAlone) return behind;
    const found = await unservedManager(api, { listed, names, isAlone }, facts);
    // Without nodes, there is no Pod to which a manager could give the labels that the Service wants.
    return found && { ...found, podLabels: originalSelector(service) };
  }
  if (selected.length === 1) return { ...selected[0]!, source: `selected by Service ${name}` };
  const behind = { service, ports: chosen.flatMap(calledPorts) };
  const best = bestOf(selected, behind, (kinds) => `selects the Pods of several ${kinds}`);
  return { ...best, source: `the best match of those that Service ${name} selects` };
}

/** The manager if no webhook Service was found. */
async function unservedManager(
  api: ClusterApi,
  { listed, names, isAlone }: Omit<Wanted, 'chosen'>,
  facts: CheckoutFacts,
): Promise<LocatedManager | undefined> {
  const deployments = list(api, ['Deployment'], names.namespace);
  // If listing Deployments is forbidden, it is enough to know that no webhook Service matches.
  const readable = facts.declaresWebhooks ? deployments.catch(noneIfForbidden) : deployments;
  const all = await readable;
  const answering = await answeringIn(api, all, listed, facts);
  const others = await list(api, OTHERS, names.namespace).catch(noneIfForbidden);
  const found =
    similarWorkload(all, facts, { isAlone, answers: (one) => answering.includes(one) }) ??
    similarWorkload(others, facts, { isAlone });
  if (found) return { ...found, source: 'its name or image matches this checkout' };
  const [only, ...more] = [...all, ...others];
  return isAlone && only && more.length === 0 ? { ...only, source: ONLY } : undefined;
}

/** The workloads that answer a webhook on a path in the sources, even if other operators may serve that path, too. */
async function answeringIn(
  api: ClusterApi,
  all: FoundWorkload[],
  listed: WebhookService[],
  { paths, manifestPaths, declaresWebhooks, ...facts }: CheckoutFacts,
): Promise<FoundWorkload[]> {
  const candidates = all.filter(({ object }) => runsImage(object, facts));
  const isServed = ({ path }: WebhookCall): boolean =>
    path === '/' ||
    paths.has(path) ||
    manifestPaths.has(path) ||
    (declaresWebhooks && BUILT_IN_PATH.test(path));
  const called = listed.filter(
    ({ namespace, calls }) =>
      candidates.some(({ ref }) => ref.namespace === namespace) && calls.some(isServed),
  );
  const services = await Promise.all(
    called.map(({ namespace, name }) => api.get<Service>({ kind: 'Service', namespace, name })),
  );
  return candidates.filter(({ ref, object }) =>
    services.some(
      (service) =>
        service !== undefined && service.metadata.namespace === ref.namespace && serves(service, object),
    ),
  );
}

const ONLY = 'the only one that this checkout declares';

const OTHERS: Kind[] = WORKLOAD_KINDS.filter((kind) => kind !== 'Deployment');

async function list(api: ClusterApi, kinds: Kind[], namespace: string | undefined): Promise<FoundWorkload[]> {
  const all = await Promise.all(
    kinds.map(async (kind) =>
      (await api.list<Workload>(kind, namespace)).map((object) => ({
        ref: refOf(kind, object.metadata),
        object,
      })),
    ),
  );
  return all.flat();
}

/** The ports of the Pod that webhooks reach. The Service's other ports are left out, because they may be a sidecar's. */
function calledPorts({ webhooks, service }: ChosenService): (number | string)[] {
  const all = service.spec.ports ?? [];
  const called = all.filter((port) => webhooks.calls.some((call) => call.port === port.port));
  return [...new Set((called.length > 0 ? called : all).map((port) => port.targetPort ?? port.port))];
}

async function namedWorkload(
  api: ClusterApi,
  { deployment, deployments: named = [deployment] }: TargetNames & { deployment: string },
  defaultNamespace: string,
): Promise<FoundWorkload> {
  const { namespace, name } = splitName(deployment, defaultNamespace);
  for (const kind of WORKLOAD_KINDS) {
    const ref = { kind, namespace, name };
    const object = await api.get<Workload>(ref);
    if (object !== undefined) return { ref, object };
  }
  throw new DevloopError(
    'target.not-found',
    `Deployment ${namespace}/${name} does not exist, nor does a StatefulSet or DaemonSet of that name.`,
    { hint: await hintOfMissing(api, WORKLOAD_KINDS, { namespace, name, flag: '--deployment', named }) },
  );
}

/**
 * Finds the workload of a Pod that the Service selects by labels that no template has, such as a label that the manager gives its own Pod.
 * If devloop does not know what created the Pod, such as a Job or another operator's object, the result is the Pod itself: it shows how the
 * manager runs, but there is nothing that devloop could scale to pause it.
 */
async function podBehind(
  api: ClusterApi,
  service: Service,
  workloads: FoundWorkload[],
): Promise<LocatedManager | undefined> {
  const matchLabels = originalSelector(service);
  const pod = (await selectedPods(api, service)).find(
    (one) => !['Succeeded', 'Failed'].includes(one.status?.phase ?? ''),
  );
  if (pod === undefined) return undefined;
  const { metadata, spec } = pod;
  const workload = workloads.find(({ ref }) => ownsPod(ref, metadata));
  if (workload) {
    const source = `one of its Pods is selected by Service ${service.metadata.name}`;
    return { ...workload, podLabels: metadata.labels ?? {}, source };
  }
  const owner = controllerOf(metadata);
  const template = { metadata, spec: { containers: [], ...spec } };
  return {
    ref: refOf('Pod', metadata),
    object: { metadata, spec: { selector: { matchLabels }, template } },
    ...(owner ? { owner: `${owner.kind} ${metadata.namespace}/${owner.name}` } : {}),
    source: `selected by Service ${service.metadata.name}`,
  };
}

/** The Pods that the Service selects, or selected before a session changed it; none if it has no selector. */
export async function selectedPods(api: ClusterApi, service: Service): Promise<Pod[]> {
  const labelSelector = labelQuery(originalSelector(service));
  if (labelSelector === '') return [];
  return await api.list<Pod>('Pod', service.metadata.namespace, { query: { labelSelector } });
}
