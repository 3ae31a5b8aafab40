import { widthOf } from './width.ts';

/** The first of these rows that fits into the terminal. If none does, it takes several rows anyway: then the first one, which says most. */
export function firstFitting(rows: (() => string)[], columns = Number.POSITIVE_INFINITY): string {
  for (const row of rows) {
    const text = row();
    if (widthOf(text) <= columns) return text;
  }
  return rows[0]!();
}
