import type { PlanDifference, PlannedWrite } from '../../report/planned-write.ts';
import { textDiff, yaml } from '../../reviews/objects.ts';
import type { Planned } from './planned.ts';

interface Span {
  fromMs: number;
  toMs: number;
}

export interface Compared {
  differences: PlanDifference[];
  same: number;
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;
const DELETES = new Set(['delete', 'deletecollection']);

/** What two plans do not have in common. `span`: when they were made, since the time of a run is another one in each. */
export function compare(here: Planned[], there: Planned[], span: Span): Compared {
  const [mine, theirs] = [comparable(here, span), comparable(there, span)];
  const differences: PlanDifference[] = [];
  let same = 0;
  for (const [key, one] of mine) {
    const other = theirs.get(key);
    if (other === undefined) differences.push({ by: 'checkout', write: one.write });
    else if (one.does === other.does) same += 1;
    else differences.push(bothDiffer(one, other));
  }
  for (const [key, { write }] of theirs) if (!mine.has(key)) differences.push({ by: 'revision', write });
  return { differences, same };
}

interface Comparable {
  write: PlannedWrite;
  /** The object after it. */
  after: string | undefined;
  /** What the write changes, whatever else is in the object. */
  does: string;
}

/** By what is written; several writes to one object by their order. */
function comparable(plan: Planned[], span: Span): Map<string, Comparable> {
  const uids = plan.flatMap(({ uid }) => uid ?? []);
  const found = new Map<string, Comparable>();
  const counts = new Map<string, number>();
  for (const { write, object } of plan) {
    const { resource, group, namespace, name, verb, action, message, diff, changes } = write;
    const generated = generatedNames(object);
    const usual = (text: string): string => withoutChance(text, { uids, span, generated });
    const what = [group, resource, namespace, usual(name ?? ''), DELETES.has(verb)].join(' ');
    const number = (counts.get(what) ?? 0) + 1;
    counts.set(what, number);
    const changed = diff?.split('\n').filter((line) => action === 'create' || /^[+-]/.test(line)) ?? changes;
    found.set(`${what} ${number}`, {
      write,
      after: object === undefined ? undefined : usual(yaml(object)),
      does: usual([action, message, ...(changed ?? [])].join('\n')),
    });
  }
  return found;
}

function bothDiffer(one: Comparable, other: Comparable): PlanDifference {
  const isShown = one.after !== undefined && other.after !== undefined && one.after !== other.after;
  return {
    ...{ by: 'both', write: one.write, instead: other.write },
    ...(isShown ? { diff: textDiff(other.after!, one.after!) } : {}),
  };
}

/** A generated name, and the text that it begins with. */
function generatedNames(object: unknown): [string, string] | undefined {
  const { metadata } = (object ?? {}) as { metadata?: { name?: unknown; generateName?: unknown } };
  const { name, generateName } = metadata ?? {};
  return typeof name === 'string' && typeof generateName === 'string'
    ? [name, `${generateName}*`]
    : undefined;
}

/** Without what is another one at each run: the time, the uids of new objects, and generated names. */
function withoutChance(
  text: string,
  { uids, span, generated }: { uids: string[]; span: Span; generated: [string, string] | undefined },
): string {
  const timeless = text.replaceAll(TIME, (time) => {
    const at = Date.parse(time);
    return at >= span.fromMs && at <= span.toMs ? '<now>' : time;
  });
  const known = uids.reduce((rest, uid) => rest.replaceAll(uid, '<uid of a new object>'), timeless);
  return generated === undefined ? known : known.replaceAll(generated[0], generated[1]);
}
