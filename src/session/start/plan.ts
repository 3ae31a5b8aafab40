import { describe } from '../../cluster/api/kinds.ts';
import { REPLICAS_LABEL } from '../../cluster/names.ts';
import type { Target } from '../../operator/target.ts';
import type { ChangeAction, ObjectName } from '../../report/events.ts';
import { leasesOf } from '../context/holders.ts';
import { nameOf, type Way } from '../route/routing.ts';

export interface Planned {
  action: ChangeAction;
  object: ObjectName;
  detail: string;
}

export interface PlannedWay {
  route: string;
  /** Where the reviews go on this way. */
  detail: string;
  changes: Planned[];
}

/** Who holds the operator. Pure. */
export function plannedLeases(target: Target): Planned[] {
  return leasesOf(target).map((ref) => planned('create', describe(ref), 'says who holds it'));
}

/** What every way is proven with before anything of the user's is changed. Pure. */
export function plannedProbes({ services }: Target): Planned[] {
  const namespaces = new Set(services.map(({ service }) => service.metadata.namespace!));
  if (namespaces.size === 0) return [];
  const objects = [
    ...[...namespaces].map((one) => `Service ${one}/devloop-probe-*-<session>`),
    'ValidatingWebhookConfiguration devloop-probe-<session>-*',
  ];
  return objects.map((object) => planned('create', object, 'for the seconds of a proof'));
}

/** The changes of the way that leads here. Pure. */
export function plannedWay({ services }: Target, way: Way): PlannedWay {
  const names = services.map(({ service: { metadata } }) => `${metadata.namespace}/${metadata.name}`);
  const route = nameOf(way);
  if (way === 'relay') {
    const namespaces = [...new Set(services.map(({ service }) => service.metadata.namespace!))];
    const changes = [...namespaces.flatMap((one) => relayed(one)), ...names.map((name) => swapped(name))];
    return { route, detail: 'a Pod, connected through the API server', changes };
  }
  const [detail, where] =
    typeof way === 'object'
      ? [`a port of ${way.ssh}, forwarded`, `to ${way.ssh}`]
      : ['an address of this machine', 'to this machine'];
  return { route, detail, changes: names.flatMap((name) => led(name, where)) };
}

/** What quiets the in-cluster manager. Pure. */
export function plannedQuiet({ deployment }: Target): Planned[] {
  if (deployment === undefined) return [];
  const { metadata, spec } = deployment.object;
  // What a dead session left is put back first.
  const before = metadata.labels?.[REPLICAS_LABEL] ?? spec.replicas ?? 1;
  return [planned('update', `Deployment ${metadata.namespace}/${metadata.name}`, `replicas ${before} -> 0`)];
}

function relayed(namespace: string): Planned[] {
  const relay = `${namespace}/devloop-relay-<session>`;
  return [
    planned('create', `Secret ${relay}`, 'the relay, and its key'),
    planned('create', `Pod ${relay}-*`, 'carries the reviews here'),
  ];
}

function swapped(name: string): Planned {
  return planned('update', `Service ${name}`, 'selector -> the relay Pod');
}

function led(name: string, where: string): Planned[] {
  return [
    planned('update', `Service ${name}`, 'selector removed'),
    planned('update', `Endpoints ${name}`, where),
    planned('create', `EndpointSlice ${name}-devloop-<session>`, where),
    planned('delete', `EndpointSlice ${name}-*`, "Kubernetes' own, made again later"),
  ];
}

function planned(action: ChangeAction, text: string, detail: string): Planned {
  const [, kind = '', namespace, name = ''] = /^(\w+) (?:([^/]+)\/)?(.+)$/.exec(text) ?? [];
  return { action, object: { kind, ...(namespace === undefined ? {} : { namespace }), name }, detail };
}
