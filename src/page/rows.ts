import { diffLines } from 'diff';

/** A row of two texts side by side: a line that only one of them has is on its own in its row. */
export interface Row {
  left?: Line;
  right?: Line;
  isSame: boolean;
}

export interface Line {
  number: number;
  text: string;
}

/** Texts with more differences are shown as removed and added as a whole: nobody reads so many, and comparing them would take seconds. */
const MOST_EDITS = 2_000;

export function rowsOf(before: string, after: string): Row[] {
  const changes = diffLines(ended(before), ended(after), { maxEditLength: MOST_EDITS }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
  const rows: Row[] = [];
  let [left, right] = [0, 0];
  let removed: Line[] = [];
  const flush = (added: Line[]): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      rows.push({ ...side('left', removed[at]), ...side('right', added[at]), isSame: false });
    }
    removed = [];
  };
  for (const change of changes) {
    const lines = linesOf(change.value);
    if (change.removed) removed = lines.map((text) => ({ number: ++left, text }));
    else if (change.added) flush(lines.map((text) => ({ number: ++right, text })));
    else {
      flush([]);
      for (const text of lines)
        rows.push({ left: { number: ++left, text }, right: { number: ++right, text }, isSame: true });
    }
  }
  flush([]);
  return rows;
}

/** Neighbouring rows, all with the same text on both sides, or all with different texts. */
export interface Run {
  rows: Row[];
  /** The rows are unchanged and far from any change, so they are not shown at first. */
  isFolded: boolean;
}

const CONTEXT = 3;
/** Fewer unchanged rows are not folded: a line in their place would take as much room. */
const LEAST_FOLDED = 4;

export function runsOf(rows: Row[]): Run[] {
  const isNear = new Uint8Array(rows.length);
  rows.forEach(({ isSame }, at) => {
    if (!isSame) isNear.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const runs: Run[] = [];
  for (let from = 0; from < rows.length; ) {
    let to = from;
    while (to < rows.length && isNear[to] === isNear[from]) to++;
    const isFolded = isNear[from] === 0 && to - from >= LEAST_FOLDED;
    const last = runs.at(-1);
    if (last && !isFolded && !last.isFolded) last.rows.push(...rows.slice(from, to));
    else runs.push({ rows: rows.slice(from, to), isFolded });
    from = to;
  }
  return runs;
}

function side(name: 'left' | 'right', line: Line | undefined): Pick<Row, 'left' | 'right'> {
  return line ? { [name]: line } : {};
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

function ended(text: string): string {
  return text.endsWith('\n') || text === '' ? text : `${text}\n`;
}
