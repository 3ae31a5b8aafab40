import type { CallRecord } from '../../calls/record.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { ApiError, isNotFound } from '../../cluster/api/errors.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import type { PathStep } from '../../config/json-path.ts';
import type { Ends } from './differences.ts';
import { keyOf, type Named, type Names } from './names.ts';
import { normalised } from './normalised.ts';
import { hasSucceeded } from './points.ts';

/** An object that the controller has written, and where the API server has it. */
export interface Touched {
  object: Named;
  path: string;
}

export type Found = Touched & { value: KubeObject };

/** Reads of one run at the same time. */
const AT_ONCE = 8;
/** More objects than a scenario writes. */
const MOST = 2_000;
const CREATED = 201;
const METHOD_NOT_ALLOWED = 405;

/** The objects that a run has written, by `keyOf`. `versionOf`: the version in which the controller has called a resource. */
export function touchedBy(
  records: readonly CallRecord[],
  versionOf: (object: Named) => string | undefined,
): Map<string, Touched> {
  const touched = new Map<string, Touched>();
  for (const { group, resource = '', namespace, name, ...record } of records.filter(hasSucceeded)) {
    const object = { group, resource: resource.split('/')[0]!, namespace, name, ...record };
    const version = versionOf(object);
    if (name === undefined || version === undefined || touched.size === MOST) continue;
    touched.set(keyOf(object), { object, path: pathOf(object, version) });
  }
  return touched;
}

function pathOf({ group, resource = '', namespace, name = '' }: Named, version: string): string {
  const root = group ? ['apis', group, version] : ['api', version];
  const place = namespace ? ['namespaces', namespace, resource, name] : [resource, name];
  return ['', ...root, ...place.map(encodeURIComponent)].join('/');
}

/** Those of them that exist, as they are now. */
export async function existing(
  api: Pick<ClusterApi, 'call'>,
  touched: Iterable<Touched>,
  signal: AbortSignal,
): Promise<Found[]> {
  const found: Found[] = [];
  const left = [...touched];
  const read = async (): Promise<void> => {
    for (let one = left.pop(); one; one = left.pop()) {
      const value = await api
        .call<KubeObject>('GET', one.path, undefined, { signal })
        .catch((error: unknown) => {
          // Of some resources, such as bindings, nothing can be read.
          if (!isNotFound(error) && !isUnreadable(error)) throw error;
        });
      if (value) found.push({ ...one, value });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, read));
  return found;
}

function isUnreadable(error: unknown): boolean {
  return error instanceof ApiError && error.status === METHOD_NOT_ALLOWED;
}

/** The objects that a run has created. */
export function createdIn({ records, found }: { records: readonly CallRecord[]; found: Found[] }): Found[] {
  const creating = records.filter(
    (record) =>
      hasSucceeded(record) &&
      !record.resource?.includes('/') &&
      (record.verb === 'create' || record.code === CREATED),
  );
  const created = new Set(creating.map(keyOf));
  return found.filter(({ object }) => created.has(keyOf(object)));
}

/** The resources of which the controller writes the status. */
export function statusesIn(records: readonly CallRecord[]): Set<string> {
  const writing = records
    .filter(hasSucceeded)
    .filter(({ resource, changes = [] }) => resource?.endsWith('/status') || changes.some(isOfStatus));
  return new Set(writing.map(resourceOf));
}

function isOfStatus(change: string): boolean {
  return /^\W?status\b/.test(change);
}

function resourceOf({ group = '', resource = '' }: Named): string {
  return `${group} ${resource.split('/')[0]}`;
}

/** `Deployment default/web-x1`, as it is called in the cluster. */
export function titleOf({ object, value }: Found): string {
  return `${value.kind ?? object.resource} ${[object.namespace, object.name].filter(Boolean).join('/')}`;
}

/** `Deployment default/web`; `*` stands for what is generated. */
export function wordsFor(found: Found, names: Names): string {
  const { object, value } = found;
  return `${value.kind ?? object.resource} ${[object.namespace, patternOf(found, names)].filter(Boolean).join('/')}`;
}

/** A name that the API server generates begins alike in each run, also in one with a crash. */
function patternOf({ object, value }: Found, names: Names): string {
  const { generateName } = value.metadata;
  return generateName ? `${generateName}*` : names.of(object);
}

/** What is the same in each run that ends alike. */
export interface Comparison {
  names: Names;
  /** What the user does not want compared. */
  ignored: PathStep[][];
  /** The resources whose status is compared. */
  statuses: ReadonlySet<string>;
}

/** What is compared of the objects. */
export function endsOf(found: readonly Found[], { names, ignored, statuses }: Comparison): Ends {
  const known = new Map(
    found.flatMap((one): [string, string][] => {
      const { name = '' } = one.object;
      const pattern = patternOf(one, names);
      const uid = one.value.metadata.uid;
      return [
        ...(uid === undefined ? [] : [[uid, `<uid of ${wordsFor(one, names)}>`] as [string, string]]),
        ...(pattern === name ? [] : [[name, pattern] as [string, string]]),
      ];
    }),
  );
  const ends = new Map<string, unknown[]>();
  for (const one of found) {
    const words = wordsFor(one, names);
    const hasOwnStatus = statuses.has(resourceOf(one.object));
    const compared = normalised(one.value, { known, ignored, hasOwnStatus });
    ends.set(words, [...(ends.get(words) ?? []), compared]);
  }
  for (const all of ends.values()) all.sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
  return ends;
}

/** Of objects with generated names, labels are the likeliest to tell which are alike. */
function orderOf(object: unknown): string {
  const { metadata } = object as Partial<KubeObject>;
  return JSON.stringify([metadata?.labels, object]);
}
