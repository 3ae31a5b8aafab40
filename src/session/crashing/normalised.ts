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

/** What stands for the values that are other ones in each run. */
export interface Replaced {
  /** Names and uids of the run's objects, each with what stands for it. */
  known: ReadonlyMap<string, string>;
  /** What the user wants left out. */
  ignored: PathStep[][];
}

/** The object with what is the same in each run that ends alike: without uids, versions, times, generated names and secrets. */
export function normalised(object: KubeObject, { known, ignored }: Replaced): unknown {
  const { value } = redact(object, { paths: ignored });
  const { metadata, ...rest } = value as KubeObject & Record<string, unknown>;
  const kept = Object.fromEntries(Object.entries(metadata).filter(([key]) => !OF_SERVER.has(key)));
  return walk({ ...rest, metadata: kept }, { known, generation: object.metadata.generation }, 0);
}

interface Place {
  known: ReadonlyMap<string, string>;
  generation: number | undefined;
}

function walk(value: unknown, place: Place, level: number): unknown {
  if (typeof value === 'string') return text(value, place);
  if (typeof value !== 'object' || value === null || level > MOST_LEVELS) return value;
  if (Array.isArray(value)) return value.map((item) => walk(item, place, level + 1));
  const entries = Object.entries(value).map(([key, item]) => [key, field(key, item, place, level)] as const);
  return Object.fromEntries(entries);
}

function field(key: string, value: unknown, place: Place, level: number): unknown {
  if (key === 'resourceVersion') return '<version>';
  if (key === 'observedGeneration' && typeof value === 'number')
    return value === place.generation ? '<this generation>' : '<an earlier generation>';
  const walked = walk(value, place, level + 1);
  return key === 'conditions' && Array.isArray(walked) ? inOrder(walked) : walked;
}

/** The order in which conditions were added says nothing. */
function inOrder(conditions: unknown[]): unknown[] {
  const typeOf = (one: unknown): string => String((one as { type?: unknown } | null)?.type ?? '');
  return conditions.toSorted((one, other) => typeOf(one).localeCompare(typeOf(other)));
}

function text(value: string, { known }: Place): string {
  const found = known.get(value);
  if (found !== undefined) return found;
  return UID.test(value) ? '<uid>' : stable(value);
}
