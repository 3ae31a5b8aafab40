/** What devloop told its users about fields that others had set during the session. */
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { Json } from '../../../src/cluster/api/objects.ts';
import { same } from '../../../src/cluster/marks/marks.ts';
import { valueAt } from '../../../src/cluster/marks/paths.ts';
import { RELAY_LABEL } from '../../../src/cluster/names.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { describe, type ObjectName } from '../../../src/report/object-name.ts';
import type { Change, FakeCluster } from '../fake-cluster.ts';
import { HOOK, MANAGER, NAMESPACE } from './objects.ts';

/**
 * If devloop told a user that something is not as it would be without devloop, the two worlds differ from then on: somebody who merges a
 * manifest into a missing selector cannot keep the entries that the manifest does not name.
 */
export function partedBy(event: DevloopEvent, without: FakeCluster): string[] {
  return [HOOK, MANAGER].flatMap((ref) => {
    const path = fieldOf(ref);
    const wanted = valueAt(without.read(ref.kind, ref.name, NAMESPACE), path);
    const told = toldValues([event], ref, path).filter((value) => !same(value, undefined));
    return told.some((value) => !same(value, wanted)) ? [describe(ref)] : [];
  });
}

/** Records what others write, and finds what devloop reports about them although nobody did it. */
export function createWitness(): { see(change: Change): void; liesIn(event: DevloopEvent): string[] } {
  const seen: { ref: ObjectRef; value: Json }[] = [];
  return {
    see({ ref, object, by }) {
      if (by === undefined || by === 'devloop' || by === 'kube-controller-manager') return;
      seen.push({ ref, value: withoutRelay(valueAt(object, fieldOf(ref)) ?? null) });
    },
    liesIn: (event) =>
      [HOOK, MANAGER].flatMap((ref) =>
        toldValues([event], ref, fieldOf(ref))
          .filter(
            (value) => !seen.some((one) => describe(one.ref) === describe(ref) && same(one.value, value)),
          )
          .map((value) => `nobody set ${describe(ref)} to ${JSON.stringify(value)}`),
      ),
  };
}

export const fieldOf = ({ kind }: ObjectRef): string[] => [
  'spec',
  kind === 'Service' ? 'selector' : 'replicas',
];

/** Values that others had set, and that the user was told about. */
export function toldValues(events: DevloopEvent[], ref: ObjectRef, path: string[]): Json[] {
  const name = describe(ref);
  const field = path.join('.');
  return events.flatMap((event) => {
    if (event.type === 'guard.overwritten' && describe(event.object) === name && event.field === field)
      return [withoutRelay(JSON.parse(event.to))];
    if (event.type !== 'warning' || event.code !== 'restore.kept') return [];
    const kept = event.values as { object: ObjectName; field: string; now: Json };
    return describe(kept.object) === name && kept.field === field ? [withoutRelay(kept.now)] : [];
  });
}

/** What others had set. With a relay, a session adds its own label. */
export function withoutRelay(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== RELAY_LABEL));
}
