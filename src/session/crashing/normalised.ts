import { createHmac, randomBytes } from 'node:crypto';
import type { KubeObject } from '../../cluster/api/objects.ts';
import type { PathStep } from '../../config/json-path.ts';
import { stable } from '../../reviews/compare.ts';
import { redact } from '../../reviews/redact.ts';

/** What the API server sets anew in each run. */
const OF_SERVER = new Set([
  ...['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields', 'selfLink'],
]);
const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MOST_LEVELS = 100;
const MARKS_KEY = randomBytes(32);
const MARK_LENGTH = 8;
/** Fields of strings that others set, and not in the same way each time: where a Pod runs, how often a Deployment was changed. */
const OF_OTHERS = new Set(['nodeName', 'deployment.kubernetes.io/revision']);
/** Fields with lists to which several programs, or one in any order, add what they have. */
const UNORDERED = new Set(['status', 'conditions', 'finalizers', 'ownerReferences']);

/** What stands for the values that are other ones in each run. */
export interface Replaced {
  /** Names and uids of the run's objects, each with what stands for it. */
  known: ReadonlyMap<string, string>;
  /** What the user wants left out. */
  ignored: PathStep[][];
  /** Whether the controller writes the status. Another one's status follows from the rest, at a time of its own. */
  hasOwnStatus: boolean;
}

/** The object with what is the same in each run that ends alike: without uids, versions, times, generated names and secrets. */
export function normalised(object: KubeObject, { known, ignored, hasOwnStatus }: Replaced): unknown {
  const { value } = redact(object, { paths: ignored });
  const { metadata, status, ...rest } = value as Fields;
  const kept = Object.fromEntries(Object.entries(metadata).filter(([key]) => !OF_SERVER.has(key)));
  const hidden = object.kind === 'Secret' ? { data: hiddenData(object as Fields, ignored) } : {};
  const compared = {
    ...rest,
    ...hidden,
    metadata: kept,
    ...(hasOwnStatus && status !== undefined && { status }),
  };
  return walk(compared, { known, generation: object.metadata.generation, isUnordered: false }, 0);
}

type Fields = KubeObject & Record<string, unknown>;

/** The values of a Secret as marks that tell only which are the same, and only in this process. */
function hiddenData({ apiVersion, kind, data }: Fields, ignored: PathStep[][]): Record<string, string> {
  const values = (data ?? {}) as Record<string, unknown>;
  const keys = Object.keys(values);
  // Only what the user names is replaced in this: booleans are no secrets.
  const probe = { apiVersion, kind, data: Object.fromEntries(keys.map((key) => [key, true])) };
  const compared = redact(probe, { paths: ignored }).value.data;
  const markOf = (text: unknown): string =>
    createHmac('sha256', MARKS_KEY).update(String(text)).digest('hex').slice(0, MARK_LENGTH);
  const shown = (key: string): string => (compared[key] ? markOf(values[key]) : 'ignored');
  return Object.fromEntries(keys.map((key) => [key, `<redacted: ${shown(key)}>`]));
}

interface Place {
  known: ReadonlyMap<string, string>;
  generation: number | undefined;
  /** Whether the order of lists says nothing. */
  isUnordered: boolean;
}

function walk(value: unknown, place: Place, level: number): unknown {
  if (typeof value === 'string') return text(value, place);
  if (typeof value !== 'object' || value === null || level > MOST_LEVELS) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => walk(item, place, level + 1));
    return place.isUnordered ? inOrder(items) : items;
  }
  const entries = Object.entries(value).map(([key, item]) => [key, field(key, item, place, level)] as const);
  return Object.fromEntries(entries);
}

function field(key: string, value: unknown, place: Place, level: number): unknown {
  if (key === 'resourceVersion') return '<version>';
  if (key === 'observedGeneration' && typeof value === 'number')
    return value === place.generation ? '<this generation>' : '<an earlier generation>';
  if (OF_OTHERS.has(key) && typeof value === 'string') return `<${key}>`;
  return walk(value, UNORDERED.has(key) ? { ...place, isUnordered: true } : place, level + 1);
}

function inOrder(items: unknown[]): unknown[] {
  const textOf = (item: unknown): string => {
    const { type, name } = (item ?? {}) as { type?: unknown; name?: unknown };
    return JSON.stringify([type ?? name ?? '', item]);
  };
  return items.toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
}

function text(value: string, { known }: Place): string {
  const found = known.get(value);
  if (found !== undefined) return found;
  return UID.test(value) ? '<uid>' : stable(value);
}
