import type { ClusterApi } from '../cluster/api/client.ts';
import type { Deployment, Service } from '../cluster/api/objects.ts';
import { originalSelector } from '../cluster/marks/selector.ts';
import { DevloopError } from '../errors.ts';
import { mountsOf } from './mounts.ts';
import type { CheckoutFacts } from './sources.ts';
import { type ChosenService, splitName, type TargetDeployment, type TargetNames } from './target.ts';
import { isSelectedBy, managerContainer } from './workload.ts';

/** The Deployment of the in-cluster manager: the one that the user named, else the one behind the Service, else one by its name. */
export async function findDeployment(
  api: ClusterApi,
  chosen: ChosenService[],
  names: TargetNames,
  facts: CheckoutFacts,
): Promise<TargetDeployment | undefined> {
  const located = await locate(api, chosen, names, facts);
  if (located === undefined) return undefined;
  return { ...located, container: managerContainer(located.object, chosen.flatMap(calledPorts)) };
}

type Located = Omit<TargetDeployment, 'container'>;

async function locate(
  api: ClusterApi,
  chosen: ChosenService[],
  names: TargetNames,
  facts: CheckoutFacts,
): Promise<Located | undefined> {
  const service = chosen[0]?.service;
  if (names.deployment !== undefined) {
    const namespace = service?.metadata.namespace ?? names.namespace ?? api.namespace;
    return { object: await namedDeployment(api, names.deployment, namespace), source: 'named by you' };
  }
  if (service === undefined) {
    const object = similarDeployment(await api.list<Deployment>('Deployment', names.namespace), facts);
    return object && { object, source: 'its name matches this checkout' };
  }
  const all = await api.list<Deployment>('Deployment', service.metadata.namespace);
  const selected = all.filter((one) => isSelectedBy(one, originalSelector(service)));
  const { name } = service.metadata;
  if (selected.length <= 1)
    return selected[0] && { object: selected[0], source: `selected by Service ${name}` };
  const object = bestOf(selected, service, chosen.flatMap(calledPorts));
  return { object, source: `the best match of those that Service ${name} selects` };
}

/** The ports of the Pod that webhooks reach; not the Service's other ports, which may be a side-car's. */
function calledPorts({ webhooks, service }: ChosenService): (number | string)[] {
  const all = service.spec.ports ?? [];
  const called = all.filter((port) => webhooks.calls.some((call) => call.port === port.port));
  return [...new Set((called.length > 0 ? called : all).map((port) => port.targetPort ?? port.port))];
}

async function namedDeployment(api: ClusterApi, text: string, defaultNamespace: string): Promise<Deployment> {
  const { namespace, name } = splitName(text, defaultNamespace);
  const object = await api.get<Deployment>({ kind: 'Deployment', namespace, name });
  if (object !== undefined) return object;
  throw new DevloopError('target.not-found', `Deployment ${namespace}/${name} does not exist.`, {
    hint: `kubectl -n ${namespace} get deployments`,
  });
}

/** Old scaffolds all select `control-plane: controller-manager`, so a namespace with two operators has two matches. */
function bestOf(selected: Deployment[], service: Service, ports: (number | string)[]): Deployment {
  const alike = (one: Deployment): number => commonParts(one.metadata.name, service.metadata.name);
  const most = Math.max(...selected.map(alike));
  const named = selected.filter((one) => alike(one) === most);
  const mounting = named.filter((one) =>
    mountsOf(one, managerContainer(one, ports)).some((mount) => mount.kind === 'Secret'),
  );
  const left = mounting.length > 0 ? mounting : named;
  if (left.length === 1) return left[0]!;
  const { namespace, name } = service.metadata;
  const names = left.map((one) => one.metadata.name);
  throw new DevloopError(
    'target.ambiguous',
    `Service ${namespace}/${name} selects the Pods of several Deployments: ${names.join(', ')}.`,
    { hint: `devloop up --deployment ${namespace}/${names[0]}` },
  );
}

/** The number of dash-separated parts at the beginning that two names have in common. */
function commonParts(a: string, b: string): number {
  const [left, right] = [a.split('-'), b.split('-')];
  const differs = left.findIndex((part, index) => part !== right[index]);
  return differs < 0 ? left.length : differs;
}

/** Any two signs, such as name and label, or name and image. One alone is not enough to scale something down. */
const TWO_SIGNS = 4;

/** For an operator without webhooks. Undefined where no name matches: then there is nothing to pause. */
function similarDeployment(all: Deployment[], facts: CheckoutFacts): Deployment | undefined {
  const scored = all
    .map((object) => ({ object, score: nameScore(object, facts) }))
    .filter((one) => one.score >= TWO_SIGNS);
  scored.sort((a, b) => b.score - a.score);
  const best = scored[0];
  if (best === undefined) return undefined;
  const rivals = scored.filter(
    (one) => one.score === best.score || one.object.metadata.namespace !== best.object.metadata.namespace,
  );
  // The best one is among them.
  if (rivals.length === 1) return best.object;
  const list = rivals.map(({ object }) => `${object.metadata.namespace}/${object.metadata.name}`);
  throw new DevloopError(
    'target.ambiguous',
    `Several Deployments match this checkout by name: ${list.join(', ')}.`,
    { hint: `devloop up --deployment ${list[0]}` },
  );
}

function nameScore({ metadata, spec }: Deployment, { names }: CheckoutFacts): number {
  const { containers, serviceAccountName = 'default' } = spec.template.spec;
  // An operator has an account of its own; without one, this is more likely something that an operator of that name manages.
  if (serviceAccountName === 'default') return 0;
  const images = containers.map(({ image = '' }) =>
    image
      .split('/')
      .pop()!
      .replace(/[:@].*$/, ''),
  );
  const score = [...names].map((name) => {
    const byLabel = metadata.labels?.['app.kubernetes.io/name'] === name ? 2 : 0;
    const byNamespace = metadata.namespace === `${name}-system` ? 1 : 0;
    const byImage = images.includes(name) ? 2 : 0;
    return byLabel + similarity(metadata.name, name) + byNamespace + byImage;
  });
  return Math.max(0, ...score);
}

function similarity(deployment: string, name: string): number {
  if (deployment === name || deployment === `${name}-controller-manager`) return 3;
  return deployment.startsWith(`${name}-`) ? 1 : 0;
}
