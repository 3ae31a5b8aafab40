/** Names that may have been meant, the likeliest first: typos, and names that contain what was typed or are contained in it. */
export function similarNames(name: string, names: string[]): string[] {
  const related = names.filter((one) => name.length > 2 && (one.includes(name) || name.includes(one)));
  return [...new Set([...typosOf(name, names), ...related])].slice(0, 3);
}

/** The name that was most likely meant, if one is close enough to be a typo. */
export function mostSimilar(name: string, names: string[]): string | undefined {
  return typosOf(name, names)[0];
}

function typosOf(name: string, names: string[]): string[] {
  // Far longer than any name: not a typo, and the time grows with its square.
  if (name.length > 40) return [];
  const allowed = name.length <= 4 ? 1 : 2;
  return names
    .map((one) => ({ one, distance: editDistance(name.toLowerCase(), one) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
    .map(({ one }) => one);
}

/** Counts letters inserted, removed, replaced, or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
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
  return rows[a.length]![b.length]!;
}
