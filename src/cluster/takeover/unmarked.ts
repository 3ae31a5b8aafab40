import { describe } from '../../report/object-name.ts';
import type { ClusterApi } from '../api/client.ts';
import { noneIfForbidden, undefinedIfForbidden } from '../api/errors.ts';
import { isWorkload, type ObjectRef, refOf, WORKLOAD_KINDS } from '../api/kinds.ts';
import type { KubeObject, Service } from '../api/objects.ts';
import type { Workload } from '../api/workloads.ts';
import { sessionOf } from '../marks/marks.ts';
import { isSelectorless } from '../marks/selector.ts';
import { PAUSED, RELAY_LABEL, REPLICAS_LABEL, UNDO_ANNOTATION } from '../names.ts';
import type { Work } from '../work.ts';
import type { MarkedObject } from './find-marked.ts';
import { isHandMade } from './hand-made.ts';
import { leasedBy } from './lease.ts';
import { ownLeases } from './own-leases.ts';
import type { RestoreResult } from './restore-steps.ts';
import { slicesOf } from './slices.ts';

/**
 * Finds objects that a session took over, or has a Lease for, and that still look taken over but have no label: somebody removed it, so
 * nothing restores them. `isExpected`: whether the manager had 0 replicas, or the Service no selector, before the session.
 */
export async function findUnmarked(
  { api }: Work,
  taken: ObjectRef[],
  marked: MarkedObject[],
  isExpected: (ref: ObjectRef) => boolean,
): Promise<RestoreResult[]> {
  const leased = ownLeases(marked).flatMap((one) => leasedBy(one, ['Service', ...WORKLOAD_KINDS]) ?? []);
  const known = new Set(marked.map(({ ref }) => describe(ref)));
  const named = new Map([...taken, ...leased].map((ref) => [describe(ref), ref]));
  const lost = [...named].flatMap(([name, ref]) => (known.has(name) ? [] : [ref]));
  const judged = lost.map(async (ref): Promise<RestoreResult[]> => {
    // Missing permissions are reported elsewhere.
    const object = await api.get<KubeObject>(ref).catch(undefinedIfForbidden);
    if (object === undefined || sessionOf(object) !== undefined) return [];
    const trace =
      ref.kind === 'Service' ? ofService(object, isExpected(ref)) : ofManager(ref, object, isExpected(ref));
    return trace === undefined ? [] : [unmarked(ref, trace)];
  });
  const adopted = marked.filter(
    ({ ref, object }) => ref.kind === 'Service' && isSelectorless(object as Service),
  );
  const ofAdopted = adopted.map(({ ref }) => ofHandMade(api, ref));
  return (await Promise.all([...judged, ...ofAdopted])).flat();
}

function unmarked(ref: ObjectRef, trace: string): RestoreResult {
  return { ref, kept: [{ fault: trace, isUnmarked: true }] };
}

/** The endpoints of a Service that were written by hand, and whose undo no restore has carried out. */
async function ofHandMade(api: ClusterApi, service: ObjectRef): Promise<RestoreResult[]> {
  const ref: ObjectRef = { ...service, kind: 'Endpoints' };
  const [endpoints, slices] = await Promise.all([
    api.get<KubeObject>(ref).catch(undefinedIfForbidden),
    slicesOf(api, { metadata: service }).catch(noneIfForbidden),
  ]);
  const all = [
    ...(endpoints === undefined ? [] : [{ ref, object: endpoints }]),
    ...slices.map((object) => ({ ref: refOf('EndpointSlice', object.metadata), object })),
  ];
  const lost = all.filter((one) => sessionOf(one.object) === undefined && isHandMade(one));
  return lost.map((one) => unmarked(one.ref, HAS_UNDO));
}

const HAS_UNDO = `still has ${UNDO_ANNOTATION}`;

function ofService(object: KubeObject, isExpected: boolean): string | undefined {
  const { selector = {} } = (object as Service).spec;
  if (object.metadata.annotations?.[UNDO_ANNOTATION] !== undefined) return HAS_UNDO;
  if (RELAY_LABEL in selector) return 'still selects a relay of devloop';
  return Object.keys(selector).length === 0 && !isExpected ? 'has no selector' : undefined;
}

function ofManager(ref: ObjectRef, object: KubeObject, isExpected: boolean): string | undefined {
  if (!isWorkload(ref.kind)) return undefined;
  const { spec, metadata } = object as Workload;
  const label = [REPLICAS_LABEL, PAUSED].find((one) => metadata.labels?.[one] !== undefined);
  if (label !== undefined) return `still has the label ${label}`;
  if (spec.template.spec?.nodeSelector?.[PAUSED] !== undefined)
    return `still has the node selector ${PAUSED}`;
  return spec.replicas === 0 && !isExpected ? 'has 0 replicas' : undefined;
}
