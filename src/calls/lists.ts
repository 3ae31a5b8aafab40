import type { ServedCall } from '../api-proxy/observed.ts';
import type { CallSummary } from '../report/call.ts';
import { notice, type Told } from '../report/notices/catalogue.ts';
import { keepNewest } from './newest.ts';
import { Repetitions } from './repetitions.ts';

/**
 * While Go decodes as much JSON as this, the text and the objects take 40 MiB, and protobuf takes more: a third of the 128 MiB that
 * kubebuilder's manager may use.
 */
const LARGE_BYTES = 10 * 2 ** 20;
const HOUR_MS = 3_600_000;
const MOST = 1_000;
/** The groups of Kubernetes itself. Custom resources are what an operator is there for. */
const BUILT_IN = /^(?:[^.]*|.*\.k8s\.io)$/;

interface Sum {
  bytes: number;
  /** Absent if one of the pages did not tell. */
  items: number | undefined;
}

/** Finds lists of everything that are too large for the cache of an operator. */
export class Lists {
  #repetitions = new Repetitions({ least: 1, withinMs: HOUR_MS });
  /** What the pages of a list were so far. */
  #sums = new Map<string, Sum>();

  called(
    { call, headers, at }: ServedCall,
    { code, bytes = 0, items, isOpen }: CallSummary,
  ): Told<'warning'>[] {
    const { resource: of, verb, query } = call;
    const isList = verb === 'list' || (isOpen && query.get('sendInitialEvents') === 'true');
    if (of === undefined || !isList || code !== 200 || !asksForAll(query)) return [];
    const { group, resource, namespace } = of;
    if (namespace !== undefined || !BUILT_IN.test(group)) return [];
    const hasObjects = !(headers.accept ?? '').includes('as=PartialObjectMetadata');
    const about = JSON.stringify([group, resource, hasObjects]);
    const before = query.has('continue') ? this.#sums.get(about) : { bytes: 0, items: 0 };
    const sum = { bytes: (before?.bytes ?? 0) + bytes, items: added(before?.items, items) };
    keepNewest(this.#sums, MOST, about, sum);
    if (sum.bytes < LARGE_BYTES) return [];
    const often = this.#repetitions.add({ about, subject: about, at, details: [] });
    if (often === undefined) return [];
    const { times, seconds } = often;
    return [notice('calls.large-list', { group, resource, ...sum, hasObjects, times, seconds })];
  }
}

function asksForAll(query: URLSearchParams): boolean {
  return !query.get('labelSelector') && !query.get('fieldSelector');
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other;
}
