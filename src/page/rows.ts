import { diffLines } from 'diff';

/** A row of two texts side by side: a line that only one of them has is on its own in its row. */
export interface Row {
  left?: Line;
  right?: Line;
  isSame: boolean;
  /** What changes with every write, and says nothing: `generation`. */
  quiet?: string;
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
  /** The rows are unchanged and far from any change, or quiet, so they are not shown at first. */
  isFolded: boolean;
  /** What differs in rows that are folded. */
  quiet: string[];
}

const CONTEXT = 3;
/** Fewer unchanged rows are not folded: a line in their place would take as much room. */
const LEAST_FOLDED = 4;

/** `marked`: the numbers of lines on the right that are shown with what is around them, though nothing differs there. */
export function runsOf(all: Row[], marked: ReadonlySet<number> = new Set()): Run[] {
  const rows = withQuiet(all);
  const isNear = new Uint8Array(rows.length);
  rows.forEach(({ isSame, quiet, right }, at) => {
    if ((!isSame && !quiet) || marked.has(right?.number ?? 0))
      isNear.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  rows.forEach(({ quiet }, at) => {
    if (quiet) isNear[at] = 0;
  });
  const runs: Run[] = [];
  for (let from = 0; from < rows.length; ) {
    let to = from;
    while (to < rows.length && isNear[to] === isNear[from]) to++;
    const some = rows.slice(from, to);
    const quiet = [...new Set(some.flatMap(({ quiet: one }) => one ?? []))];
    const isFolded = isNear[from] === 0 && (some.length >= LEAST_FOLDED || quiet.length > 0);
    const last = runs.at(-1);
    if (last && !isFolded && !last.isFolded) last.rows.push(...some);
    else runs.push({ rows: some, isFolded, quiet });
    from = to;
  }
  return runs;
}

/** The fields of metadata, as YAML has them, that differ after each write. */
const QUIET = /^ {2}(generation|resourceVersion):/;
export const LAST_APPLIED_NAME = 'last-applied-configuration';
const LAST_APPLIED = /^( +)kubectl\.kubernetes\.io\/last-applied-configuration:/;

function withQuiet(rows: Row[]): Row[] {
  const left = quietLines(rows.map((row) => row.left?.text));
  const right = quietLines(rows.map((row) => row.right?.text));
  return rows.map((row, at) => {
    if (row.isSame) return row;
    const [one, other] = [row.left && left[at], row.right && right[at]];
    const isQuiet =
      (row.left === undefined || one !== undefined) && (row.right === undefined || other !== undefined);
    return isQuiet ? { ...row, quiet: (one ?? other)! } : row;
  });
}

/** For each line, the quiet field of which it is a part. */
export function quietLines(lines: (string | undefined)[]): (string | undefined)[] {
  let indent = -1;
  return lines.map((line) => {
    if (line === undefined) return undefined;
    // The value of the annotation is a block of its own.
    if (indent >= 0 && line.startsWith(' '.repeat(indent + 1))) return LAST_APPLIED_NAME;
    const [, spaces] = LAST_APPLIED.exec(line) ?? [];
    indent = spaces?.length ?? -1;
    return spaces === undefined ? QUIET.exec(line)?.[1] : LAST_APPLIED_NAME;
  });
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
