import { describe } from '../../report/object-name.ts';
import { undefinedIfForbidden } from '../api/errors.ts';
import { isWorkload, type ObjectRef, WORKLOAD_KINDS } from '../api/kinds.ts';
import type { KubeObject, Service } from '../api/objects.ts';
import type { Workload } from '../api/workloads.ts';
import { sessionOf } from '../marks/marks.ts';
import { PAUSED, RELAY_LABEL, REPLICAS_LABEL, UNDO_ANNOTATION } from '../names.ts';
import type { Work } from '../work.ts';
import type { Marked } from './find-marked.ts';
import { leasedBy } from './lease.ts';
import { ownLeases } from './own-leases.ts';
import type { Left } from './restore-steps.ts';

/**
 * Finds objects that a session took over, or has a Lease for, and that still look taken over but have no label: somebody removed it, so
 * nothing restores them. `isExpected`: whether the manager had 0 replicas, or the Service no selector, before the session.
 */
export async function findUnmarked(
  { api }: Work,
  taken: ObjectRef[],
  marked: Marked[],
  isExpected: (ref: ObjectRef) => boolean,
): Promise<Left[]> {
  const leased = ownLeases(marked).flatMap((one) => leasedBy(one, ['Service', ...WORKLOAD_KINDS]) ?? []);
  const known = new Set(marked.map(({ ref }) => describe(ref)));
  const named = new Map([...taken, ...leased].map((ref) => [describe(ref), ref]));
  const lost = [...named].flatMap(([name, ref]) => (known.has(name) ? [] : [ref]));
  const judged = lost.map(async (ref): Promise<Left[]> => {
    // Missing permissions are reported elsewhere.
    const object = await api.get<KubeObject>(ref).catch(undefinedIfForbidden);
    if (object === undefined || sessionOf(object) !== undefined) return [];
    const trace =
      ref.kind === 'Service' ? ofService(object, isExpected(ref)) : ofManager(ref, object, isExpected(ref));
    return trace === undefined ? [] : [{ ref, kept: [{ fault: trace, isUnmarked: true }] }];
  });
  return (await Promise.all(judged)).flat();
}

function ofService(object: KubeObject, isExpected: boolean): string | undefined {
  const { selector = {} } = (object as Service).spec;
  if (object.metadata.annotations?.[UNDO_ANNOTATION] !== undefined) return `still has ${UNDO_ANNOTATION}`;
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
