import type { CallRecord } from '../../calls/record.ts';

/** What of the names of objects is the same in each run. */
export interface Names {
  /** The name, with `*` for what is generated. */
  of(object: Named): string;
}

/** An object, as a call names it. */
export type Named = Pick<CallRecord, 'group' | 'resource' | 'namespace' | 'name'>;

const GENERATED = /[^-]+$/;

/**
 * Which names are generated follows from how objects were created, and from what two runs of the same scenario have written: what only one of
 * them has written ends with something that the controller has made up, if the other one has written another object whose name begins
 * like it.
 */
export function namesIn(first: readonly CallRecord[], second: readonly CallRecord[]): Names {
  const generated = new Map<string, string>();
  for (const record of [...first, ...second]) {
    const begin = generateNameOf(record.objectAfter);
    if (begin !== undefined) generated.set(keyOf(record), `${begin}*`);
  }
  const runs = [first, second].map((run) => new Set(run.map(keyOf)));
  const only = (run: number): string[] => [...runs[run]!].filter((key) => !runs[1 - run]!.has(key));
  const patterns = [only(0), only(1)].map((keys) => new Set(keys.map(withoutEnd)));
  const isMadeUp = (pattern: string): boolean => patterns.every((some) => some.has(pattern));
  const of = (object: Named): string => {
    const key = keyOf(object);
    const found = generated.get(key);
    if (found !== undefined) return found;
    const pattern = withoutEnd(key);
    const isKnown = runs.every((keys) => keys.has(key));
    if (isKnown || pattern === key || !isMadeUp(pattern)) return object.name ?? '';
    return (object.name ?? '').replace(GENERATED, '*');
  };
  return { of };
}

/** Names the object, whatever subresource of it is meant. */
export function keyOf({ group = '', resource = '', namespace = '', name = '' }: Named): string {
  return [group, resource.split('/')[0], namespace, name].join(' ');
}

/** A key whose name has no dash stays as it is, since then nothing tells what is generated. */
function withoutEnd(key: string): string {
  const name = key.slice(key.lastIndexOf(' ') + 1);
  return name.includes('-') ? key.replace(GENERATED, '*') : key;
}

function generateNameOf(object: unknown): string | undefined {
  const { metadata } = (object ?? {}) as { metadata?: { generateName?: unknown } };
  const begin = metadata?.generateName;
  return typeof begin === 'string' && begin !== '' ? begin : undefined;
}
