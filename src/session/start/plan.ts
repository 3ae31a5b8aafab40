import type { Service } from '../../cluster/api/objects.ts';
import { ANY_SESSION, relayLabels } from '../../cluster/names.ts';
import { keepRelay } from '../../cluster/relay/watch.ts';
import type { PlannedChange } from '../../cluster/step.ts';
import { holdLease } from '../../cluster/takeover/lease.ts';
import { createProber } from '../../cluster/takeover/probe.ts';
import {
  createProbeService,
  PROBE_SERVICE_PORT,
  probeServiceRef,
} from '../../cluster/takeover/probe-service.ts';
import { pointToAddress, pointToPods } from '../../cluster/takeover/service.ts';
import type { Target } from '../../operator/target.ts';
import { targetsOf } from '../context/holders.ts';
import { nameOf, type Way } from '../route/routing.ts';
import { pauseManager } from './pause-manager.ts';

export interface PlannedWay {
  route: string;
  /** Where the reviews go on this route. */
  detail: string;
  changes: PlannedChange[];
}

export function plannedLeases(target: Target): PlannedChange[] {
  return targetsOf(target).flatMap((object) => holdLease(object).changes);
}

/** The temporary objects by which every route is verified before anything of the user's is changed. */
export function plannedProbes({ services }: Target): PlannedChange[] {
  const objects = services.map(({ service }) => service);
  return unique([
    ...objects.flatMap((service) => createProbeService(service).changes),
    ...objects.flatMap((service) => createProber(probeTarget(service)).changes),
  ]);
}

export function plannedWay({ services }: Target, way: Way): PlannedWay {
  const objects = services.map(({ service }) => service);
  const route = nameOf(way);
  if (way === 'relay') {
    const namespaces = [...new Set(objects.map(({ metadata }) => metadata.namespace!))];
    const changes = [
      ...namespaces.flatMap((namespace) => keepRelay(namespace).changes),
      ...objects.flatMap((service) => pointToPods(service, relayLabels(ANY_SESSION)).changes),
    ];
    return { route, detail: 'a Pod, connected through the API server', changes };
  }
  const [detail, place] =
    typeof way === 'object'
      ? [`a port of ${way.ssh}, forwarded`, way.ssh]
      : ['an address of this machine', 'this machine'];
  return { route, detail, changes: objects.flatMap((service) => pointToAddress(service, place).changes) };
}

export function plannedPause(target: Target): PlannedChange[] {
  return pauseManager(target)?.changes ?? [];
}

function probeTarget(service: Service): Parameters<typeof createProber>[0] {
  const { namespace = '', name } = probeServiceRef(service, ANY_SESSION);
  return { namespace, service: name, port: PROBE_SERVICE_PORT, caBundle: '' };
}

function unique(changes: PlannedChange[]): PlannedChange[] {
  return [...new Map(changes.map((change) => [JSON.stringify(change), change])).values()];
}
