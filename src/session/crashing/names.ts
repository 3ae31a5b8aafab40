import type { CallRecord } from '../../calls/record.ts';

/** What of the names of objects is the same in each run. */
export interface Names {
  /** The name, with `*` for what is generated. */
  of(object: Named): string;
}

/** An object, as a call names it. */
export type Named = Pick<CallRecord, 'group' | 'resource' | 'namespace' | 'name'>;

/** In names as in `pvc-0b1f8a52-97d0-4f0f-9d3a-2f6a51a3a7c1`. */
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/**
 * Which names are generated follows from how objects were created, and from what two runs of the same scenario have written: one piece of what
 * only one of them has written is made up, if the other one has written another object whose name is like it but for this piece.
 */
export function namesIn(first: readonly CallRecord[], second: readonly CallRecord[]): Names {
  const generated = new Map<string, string>();
  for (const record of [...first, ...second]) {
    const begin = generateNameOf(record.objectAfter);
    if (begin !== undefined) generated.set(keyOf(record), `${begin}*`);
  }
  const runs = [first, second].map((run) => new Set(run.map(keyOf)));
  const only = (run: number): CallRecord[] =>
    [first, second][run]!.filter((record) => !runs[1 - run]!.has(keyOf(record)));
  const alike = [only(0), only(1)].map((records) => new Set(records.flatMap(patternsOf).map(keyOf)));
  const of = (object: Named): string => {
    const { name = '' } = object;
    const found = generated.get(keyOf(object)) ?? name.replaceAll(UID, '*');
    if (found !== name || runs.every((keys) => keys.has(keyOf(object)))) return found;
    const pattern = patternsOf(object).find((one) => alike.every((keys) => keys.has(keyOf(one))));
    return pattern?.name ?? name;
  };
  return { of };
}

/** Names the object, whatever subresource of it is meant. */
export function keyOf({ group = '', resource = '', namespace = '', name = '' }: Named): string {
  return [group, resource.split('/')[0], namespace, name].join(' ');
}

/** The object with `*` in place of each piece of its name but the first, the last one first. */
function patternsOf(object: Named): Named[] {
  const pieces = (object.name ?? '').split('-');
  const patterns = pieces.map((_, index) => ({ ...object, name: pieces.with(index, '*').join('-') }));
  return patterns.slice(1).reverse();
}

function generateNameOf(object: unknown): string | undefined {
  const { metadata } = (object ?? {}) as { metadata?: { generateName?: unknown } };
  const begin = metadata?.generateName;
  return typeof begin === 'string' && begin !== '' ? begin : undefined;
}
