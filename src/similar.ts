/**
 * The known names that the user may have meant, at most three, the likeliest first: names that differ from `name` only by a typo, then
 * names that contain it or are contained in it. If there are none, names with a part that differs from `name` only by a typo.
 */
export function similarNames(name: string, names: readonly string[]): string[] {
  // A shorter text is part of too many names.
  const isIn = (part: string, whole: string): boolean => part.length > 2 && whole.includes(part);
  const related = names.filter((one) => isIn(name, one) || isIn(one, name));
  const found = [...new Set([...typosOf(name, names), ...related])];
  return (found.length > 0 ? found : typosOfParts(name, names)).slice(0, 3);
}

/** `Did you mean direct?`, or `Did you mean one of a, b?`; undefined if nothing is similar. */
export function didYouMean(name: string, names: readonly string[]): string | undefined {
  const similar = similarNames(name, names);
  if (similar.length === 0) return undefined;
  return `Did you mean ${similar.length === 1 ? '' : 'one of '}${similar.join(', ')}?`;
}

/** The name that was most likely meant, if one is close enough to be a typo. */
export function mostSimilar(name: string, names: readonly string[]): string | undefined {
  return typosOf(name, names)[0];
}

function typosOf(name: string, names: readonly string[]): string[] {
  return closest(names, name.length <= 4 ? 1 : 2, editDistances(name, 'whole'));
}

/** Finds `shop-controller-manager` for `shop-controler`. A short name would look like a typo of too many parts. */
function typosOfParts(name: string, names: readonly string[]): string[] {
  if (name.length < 6) return [];
  return closest(names, name.length < 9 ? 1 : 2, editDistances(name, 'part'));
}

function closest(names: readonly string[], most: number, distanceTo: (name: string) => number): string[] {
  return names
    .map((one) => ({ one, distance: distanceTo(one) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)
    .map(({ one }) => one);
}

/** The edit distance from `text` to another text as a whole, or to the most similar part of it. */
function editDistances(text: string, of: 'whole' | 'part'): (other: string) => number {
  // A text this long is hardly a typo, and comparing it takes a long time.
  if (text.length > 40) return () => Number.POSITIVE_INFINITY;
  const typed = text.toLowerCase();
  return (name) => {
    const other = name.toLowerCase();
    const first = Array.from({ length: other.length + 1 }, (_, j) => (of === 'part' ? 0 : j));
    const last = editRow(typed, other, first);
    return of === 'part' ? Math.min(...last) : last.at(-1)!;
  };
}

/**
 * For each beginning of `b`, the number of edits that turn `a` into it. An edit inserts, removes or replaces a letter, or swaps two
 * neighbours. `first` is this row for an empty `a`.
 */
function editRow(a: string, b: string, first: number[]): number[] {
  const rows = [first];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? rows[i - 2]![j - 2]! + 1
          : Number.POSITIVE_INFINITY;
      row.push(Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return rows[a.length]!;
}
