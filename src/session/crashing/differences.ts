import { isDeepStrictEqual } from 'node:util';
import type { ObjectDifference } from '../../report/crash-round.ts';
import { objectDiff } from '../../reviews/objects.ts';
import { escaped, tokensOf } from '../../reviews/patch.ts';

/** The normalised objects at the end of a run, by what they are called in each run: `Deployment default/web`. */
export type Ends = ReadonlyMap<string, readonly unknown[]>;

/** What differs between runs without a crash, and so says nothing about crashes. */
export interface Varying {
  /** Objects that not each run has. */
  objects: Set<string>;
  /** Fields, as JSON pointers, by object. */
  fields: Map<string, Set<string>>;
}

const VARIES = '<varies>';

export function varyingIn(first: Ends, second: Ends): Varying {
  const varying: Varying = { objects: new Set(), fields: new Map() };
  for (const key of new Set([...first.keys(), ...second.keys()])) {
    const [ones, others] = [first.get(key) ?? [], second.get(key) ?? []];
    if (ones.length !== others.length) varying.objects.add(key);
    else {
      const fields = new Set(ones.flatMap((one, index) => [...differing(one, others[index], '')]));
      if (fields.size > 0) varying.fields.set(key, fields);
    }
  }
  return varying;
}

/** How the ends of a run with a crash differ from those of a run without one. */
export function endDifferences(expected: Ends, actual: Ends, varying: Varying): ObjectDifference[] {
  const keys = new Set([...expected.keys(), ...actual.keys()]);
  return [...keys].flatMap((object): ObjectDifference[] => {
    if (varying.objects.has(object)) return [];
    const fields = varying.fields.get(object) ?? new Set<string>();
    const [was, is] = [expected.get(object) ?? [], actual.get(object) ?? []].map((all) =>
      all.map((one) => masked(one, fields, '')),
    );
    if (isDeepStrictEqual(was, is)) return [];
    const counts = { count: is!.length, expected: was!.length };
    if (is!.length !== was!.length)
      return [{ object, what: is!.length < was!.length ? 'missing' : 'more', ...counts }];
    return [{ object, what: 'changed', ...counts, diff: objectDiff(single(was!), single(is!)) }];
  });
}

function single(all: unknown[]): unknown {
  return all.length === 1 ? all[0] : all;
}

/** The places at which two values differ. A list of another length differs as a whole. */
function* differing(one: unknown, other: unknown, at: string): Generator<string> {
  if (isDeepStrictEqual(one, other)) return;
  if (!isContainer(one) || !isContainer(other) || !isAlike(one, other)) return yield at;
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)]))
    yield* differing(fieldsOf(one)[key], fieldsOf(other)[key], `${at}/${escaped(key)}`);
}

function isAlike(one: object, other: object): boolean {
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  return !Array.isArray(one) || one.length === (other as unknown[]).length;
}

/** A field that varies may be absent in one of the runs, so it counts as there. */
function masked(value: unknown, fields: Set<string>, at: string): unknown {
  if (fields.has(at)) return VARIES;
  if (!isContainer(value)) return value;
  if (Array.isArray(value)) return value.map((item, index) => masked(item, fields, `${at}/${index}`));
  const missing = [...fields].filter(
    (one) => one.startsWith(`${at}/`) && !one.slice(at.length + 1).includes('/'),
  );
  const all = new Set([...Object.keys(value), ...missing.map((one) => tokensOf(one).at(-1)!)]);
  const entries = [...all]
    .sort()
    .map((key) => [key, masked(fieldsOf(value)[key], fields, `${at}/${escaped(key)}`)]);
  return Object.fromEntries(entries);
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function fieldsOf(value: object): Record<string, unknown> {
  return value as Record<string, unknown>;
}
