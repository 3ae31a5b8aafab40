import type { DevloopEvent } from '../../report/events.ts';

export type ReplayedEvent = Extract<DevloopEvent, { type: 'reviews.replayed' }>;

/** Replayed reviews whose answers differ in the same way, each difference once. */
export interface Alike {
  add(event: ReplayedEvent): void;
  /** One event for each difference, in the order in which they were first found. */
  found(): Iterable<ReplayedEvent>;
}

/** A change of one line can change a hundred answers, so of those that differ in the same way, all but the first are only named. */
export function createAlike(): Alike {
  const found = new Map<string, ReplayedEvent>();
  return {
    add(event) {
      const key = keyOf(event);
      const first = found.get(key);
      const { id, object } = event.review;
      const other = { id, ...(object && { object }) };
      found.set(key, first === undefined ? event : { ...first, alike: [...(first.alike ?? []), other] });
    },
    found: () => found.values(),
  };
}

function keyOf({ review, differences = [] }: ReplayedEvent): string {
  const { webhook, operation, resource, object } = review;
  // Most messages name the object.
  const nameless = (text: string): string => without(without(text, object?.name), object?.namespace);
  const changed = differences.map(({ title, text }) => [title, ...changedLines(text).map(nameless)]);
  return JSON.stringify([webhook, operation, resource, changed]);
}

/** The lines of a diff that differ, after their sign; those around them are often different for each object. */
function changedLines(text: string): string[] {
  const lines = text.split('\n');
  const changed = lines.filter((line) => /^[-+]/.test(line));
  return changed.length === 0 ? lines : changed.map((line) => `${line[0]} ${line.slice(1)}`);
}

/** The text without a name, where it is a word of its own. */
function without(text: string, name = ''): string {
  if (name === '') return text;
  const escaped = name.replaceAll(/[^\w-]/g, '\\$&');
  return text.replaceAll(new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`, 'g'), '');
}
