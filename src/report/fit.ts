import { widthOf } from './width.ts';

/** What a second row loses: its indent, and at the end of the first one, a word that did not fit. */
const LOST = 30;

/**
 * Of these texts, the first one says most. Returns the first that fits into one row of the terminal, or else into two; if none does, the
 * first.
 */
export function firstFitting(texts: (() => string)[], columns = Number.POSITIVE_INFINITY): string {
  const tried: string[] = [];
  for (const make of texts) {
    const text = make();
    if (widthOf(text) <= columns) return text;
    tried.push(text);
  }
  return tried.find((text) => widthOf(text) <= 2 * columns - LOST) ?? tried[0]!;
}
