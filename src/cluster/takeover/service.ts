import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import { refOf } from '../api/kinds.ts';
import { labelQuery } from '../api/labels.ts';
import type { Service } from '../api/objects.ts';
import { guardPermissions, type Permission, permissionsOn } from '../api/permissions.ts';
import { applyChange } from '../marks/change.ts';
import { same } from '../marks/marks.ts';
import { isSelectorless } from '../marks/selector.ts';
import { ANY_SESSION, sliceRef } from '../names.ts';
import type { Step } from '../step.ts';
import type { Work } from '../work.ts';
import {
  type Destination,
  endpointPermissions,
  familyOf,
  writeEndpoints,
  writeOldEndpoints,
} from './endpoints.ts';
import {
  controllerSlices,
  emptyControllerSlices,
  emptyHandMade,
  REFILLED_LATER,
  RESTORED_LATER,
  turnControllerSlices,
} from './slices.ts';

/** Throws, before anything is written, if the Service cannot be pointed anywhere else. */
export function assertTakeable(service: Service, address?: string): void {
  const ref = describe(refOf('Service', service.metadata));
  const unsupported = (why: string, hint: string): DevloopError =>
    new DevloopError('service.unsupported', `${ref} ${why}`, { hint });
  if (service.spec.type === 'ExternalName') {
    throw unsupported(
      'is of type ExternalName: it names an external host and has no endpoints to replace.',
      'Point the webhook at an ordinary Service.',
    );
  }
  if (service.spec.clusterIP === 'None') {
    throw unsupported(
      'is headless: without endpoint routing, kube-apiserver cannot call a webhook through it.',
      'Give the Service a cluster IP.',
    );
  }
  if (service.spec.internalTrafficPolicy === 'Local') {
    throw unsupported(
      'has internalTrafficPolicy Local: proxies drop endpoints that are on no node, and this machine is not a node.',
      `kubectl -n ${shellWord(service.metadata.namespace)} patch service ${shellWord(service.metadata.name)} -p '{"spec":{"internalTrafficPolicy":"Cluster"}}'`,
    );
  }
  const families = service.spec.ipFamilies ?? [];
  if (address !== undefined && families.length > 0 && !families.includes(familyOf(address))) {
    throw new DevloopError(
      'route.address',
      `${ref} is ${families.join(' and ')} only, and ${address} is ${familyOf(address)}.`,
      { hint: 'Pass --address with an address of that family.' },
    );
  }
}

function servicePermissions(namespace: string): Permission[] {
  return permissionsOn('Service', 'get list patch', {
    namespace,
    why: 'point the webhook Service to this machine',
  });
}

/** The endpoints that somebody has written by hand are restored in a patch, with their undo. */
export function handMadePermissions(namespace: string): Permission[] {
  const rest = { namespace, why: 'restore the endpoints that were written by hand' };
  return [...permissionsOn('Endpoints', 'patch', rest), ...permissionsOn('EndpointSlice', 'patch', rest)];
}

/**
 * Points a Service to Pods with these labels by its selector. Kubernetes' own controllers then write the endpoints, and do so again when
 * the Service is restored, so no permission on endpoints is needed.
 */
export function pointToPods(service: Service, labels: Record<string, string>): Step {
  const ref = refOf('Service', service.metadata);
  return {
    changes: [{ action: 'update', object: ref, detail: selectorDetail(labels) }],
    permissions: servicePermissions(ref.namespace!),
    apply: (work) => swapSelector(work, service, labels),
  };
}

/**
 * Points a Service to an address; `place` names its owner, for display. The Endpoints are written before the selector is removed, since
 * Kubernetes would otherwise mirror the old ones to a slice. The controllers' slices are pointed to the address first and emptied last, so
 * that there is always an endpoint. This also leaves only one change for kube-proxy, which waits a second after each change. `onPointed` is
 * called before these slices are emptied, if all endpoints point to the address.
 */
export function pointToAddress(
  service: Service,
  place: string,
): Step<(work: Work, to: () => Destination, onPointed?: () => void) => Promise<void>> {
  const ref = refOf('Service', service.metadata);
  const detail = `to ${place}`;
  const pointers = [{ ...ref, kind: 'Endpoints' } as const, sliceRef(ref, ANY_SESSION)];
  const isAdopted = isSelectorless(service);
  const slices = isAdopted ? { ...controllerSlices(service), name: '*' } : controllerSlices(service);
  return {
    changes: [
      { action: 'update', object: ref, detail: isAdopted ? ADOPTED : selectorDetail(undefined) },
      { action: 'update', object: pointers[0]!, detail },
      { action: 'create', object: pointers[1]!, detail },
      { action: 'update', object: slices, detail: isAdopted ? RESTORED_LATER : REFILLED_LATER },
    ],
    permissions: [
      ...servicePermissions(ref.namespace!),
      ...endpointPermissions(ref.namespace!),
      ...(isAdopted ? handMadePermissions(ref.namespace!) : []),
      ...guardPermissions(pointers),
    ],
    async apply(work, to, onPointed) {
      await writeOldEndpoints(work, service, to);
      await swapSelector(work, service, undefined);
      // What Kubernetes does not fill again is never without an undo, so it is emptied below, beside devloop's slice.
      const areTurned = isAdopted || (await turnControllerSlices(work, service, to));
      // Writes the Endpoints again, since Kubernetes may have overwritten them before the selector was removed.
      await writeEndpoints(work, service, to);
      await emptyHandMade(work, service);
      if (areTurned) onPointed?.();
      await emptyControllerSlices(work, service);
    },
  };
}

/** Replaces the selector, or removes it, in one patch that carries its own undo. */
export async function swapSelector(
  work: Work,
  service: Service,
  labels: Record<string, string> | undefined,
): Promise<void> {
  const ref = refOf('Service', service.metadata);
  const path = ['spec', 'selector'];
  await applyChange(work, {
    ref,
    fields: [labels === undefined ? { path } : { path, value: labels }],
    detail: isSelectorless(service) && labels === undefined ? ADOPTED : selectorDetail(labels),
    seen: service,
    check: (now) => {
      if (same((now as Service).spec.selector, service.spec.selector)) return;
      throw new DevloopError(
        'change.conflict',
        `Somebody else has just changed the selector of ${describe(ref)}.`,
        {
          hint: 'Run devloop up again.',
        },
      );
    },
  });
}

const ADOPTED = 'adopted as it is, without a selector';

function selectorDetail(labels: Record<string, string> | undefined): string {
  if (labels === undefined) return 'selector removed';
  return `selector -> ${labelQuery(labels)}`;
}
