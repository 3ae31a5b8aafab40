import type { ClusterApi } from '../cluster/api/client.ts';
import type { Container, Deployment, Service } from '../cluster/api/objects.ts';
import { DevloopError } from '../errors.ts';
import type { Wanted } from './discover.ts';
import { unique, type WebhookService } from './match.ts';
import type { CheckoutFacts } from './sources.ts';
import { isSelectedBy, managerContainer, mountsOf, originalSelector } from './workload.ts';

/** The in-cluster manager: what is quieted while the controller runs here, and whose arguments and environment it gets. */
export interface TargetDeployment {
  object: Deployment;
  container: Container;
  source: string;
}

/** A Service with the calls that lead to it. */
interface Called {
  candidate: WebhookService;
  service: Service;
}

export async function findDeployment(
  api: ClusterApi,
  called: Called[],
  wanted: Wanted,
  hints: CheckoutFacts,
): Promise<TargetDeployment | undefined> {
  const services = called.map((one) => one.service);
  const ports = called.flatMap(calledPorts);
  const found = (object: Deployment, source: string): TargetDeployment => ({
    object,
    container: managerContainer(object, ports),
    source,
  });
  if (wanted.deployment !== undefined) {
    return found(
      await namedDeployment(
        api,
        wanted.deployment,
        services[0]?.metadata.namespace ?? wanted.namespace ?? api.namespace,
      ),
      'named by you',
    );
  }
  const service = services[0];
  if (service === undefined) return await byName(api, wanted, hints, found);
  const all = await api.list<Deployment>('Deployment', service.metadata.namespace);
  const selected = all.filter((one) => isSelectedBy(one, originalSelector(service)));
  if (selected.length <= 1) {
    return selected[0] && found(selected[0], `selected by Service ${service.metadata.name}`);
  }
  return found(
    preferred(selected, service, ports),
    `the likeliest of those that Service ${service.metadata.name} selects`,
  );
}

/** Where the webhooks' ports lead in the Pod; not the Service's other ports, which may be a side-car's. */
function calledPorts({ candidate, service }: Called): (number | string)[] {
  const all = service.spec.ports ?? [];
  const webhooks = all.filter((port) => candidate.calls.some((call) => call.port === port.port));
  return unique((webhooks.length > 0 ? webhooks : all).map((port) => port.targetPort ?? port.port));
}

async function namedDeployment(api: ClusterApi, name: string, namespace: string): Promise<Deployment> {
  const [space, bare] = name.includes('/') ? (name.split('/', 2) as [string, string]) : [namespace, name];
  const object = await api.get<Deployment>({ kind: 'Deployment', namespace: space, name: bare });
  if (object !== undefined) return object;
  throw new DevloopError('target.not-found', `Deployment ${space}/${bare} does not exist.`, {
    hint: `kubectl -n ${space} get deployments`,
  });
}

/** Old scaffolds all select `control-plane: controller-manager`, so a namespace with two operators has two matches. */
function preferred(selected: Deployment[], service: Service, ports: (number | string)[]): Deployment {
  const alike = (one: Deployment): number => commonParts(one.metadata.name, service.metadata.name);
  const most = Math.max(...selected.map(alike));
  const named = selected.filter((one) => alike(one) === most);
  const mounting = named.filter((one) =>
    mountsOf(one, managerContainer(one, ports)).some((mount) => mount.kind === 'Secret'),
  );
  const left = mounting.length > 0 ? mounting : named;
  if (left.length === 1) return left[0]!;
  const names = left.map((one) => one.metadata.name);
  throw new DevloopError(
    'target.ambiguous',
    `Service ${service.metadata.namespace}/${service.metadata.name} selects the Pods of several Deployments: ${names.join(', ')}.`,
    {
      hint: `devloop up --deployment ${service.metadata.namespace}/${names[0]}`,
    },
  );
}

/** How many dash-separated parts two names begin with in common. */
function commonParts(a: string, b: string): number {
  const [left, right] = [a.split('-'), b.split('-')];
  const differs = left.findIndex((part, index) => part !== right[index]);
  return differs < 0 ? left.length : differs;
}

/** Any two signs: name and label, name and image, name and namespace… One alone is too little to scale something down for. */
const TWO_SIGNS = 4;

/** An operator without webhooks is matched by its names alone; where nothing matches there is nothing to quiet. */
async function byName(
  api: ClusterApi,
  wanted: Wanted,
  hints: CheckoutFacts,
  found: (object: Deployment, source: string) => TargetDeployment,
): Promise<TargetDeployment | undefined> {
  const all = await api.list<Deployment>('Deployment', wanted.namespace);
  const scored = all
    .map((object) => ({ object, score: nameScore(object, hints) }))
    .filter((one) => one.score >= TWO_SIGNS);
  scored.sort((a, b) => b.score - a.score);
  const best = scored[0];
  if (best === undefined) return undefined;
  const rivals = scored.filter(
    (one) => one.score === best.score || one.object.metadata.namespace !== best.object.metadata.namespace,
  );
  if (rivals.length > 1) {
    const list = [...new Set([best, ...rivals])].map(
      ({ object }) => `${object.metadata.namespace}/${object.metadata.name}`,
    );
    throw new DevloopError(
      'target.ambiguous',
      `Several Deployments are named like this checkout: ${list.join(', ')}.`,
      { hint: `devloop up --deployment ${list[0]}` },
    );
  }
  return found(best.object, 'named like this checkout');
}

function nameScore({ metadata, spec }: Deployment, { names }: CheckoutFacts): number {
  const { containers, serviceAccountName = 'default' } = spec.template.spec;
  // Without an account of its own it is no operator, but rather what an operator of that name manages.
  if (serviceAccountName === 'default') return 0;
  const images = containers.map(({ image = '' }) =>
    image
      .split('/')
      .pop()!
      .replace(/[:@].*$/, ''),
  );
  const score = [...names].map((name) => {
    const byLabel = metadata.labels?.['app.kubernetes.io/name'] === name ? 2 : 0;
    const byName =
      metadata.name === name || metadata.name === `${name}-controller-manager`
        ? 3
        : metadata.name.startsWith(`${name}-`)
          ? 1
          : 0;
    const byNamespace = metadata.namespace === `${name}-system` ? 1 : 0;
    return byLabel + byName + byNamespace + (images.includes(name) ? 2 : 0);
  });
  return Math.max(0, ...score);
}
