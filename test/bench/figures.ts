/** Figures with goals: each is printed when it is measured, and again in the table at the end. */

export interface Figure {
  name: string;
  ours: number;
  unit: 'ms' | 's' | '/s' | 'kB' | 'MB' | 'MB/s' | '';
  /** Measured in the same run. With an anchor, the goal limits ours / anchor; without one, it limits our own figure. */
  anchor?: { name: string; value: number };
  goal: { most: number } | { least: number };
}

const reported: Figure[] = [];

export function report(figure: Figure): void {
  reported.push(figure);
  const [name, ours, anchor, ratio, goal, verdict] = cellsOf(figure);
  const measured = anchor === '' ? ours : `${ratio} (${ours}; ${anchor})`;
  console.log(`${verdict!.padEnd(7)}  ${name}: ${measured}, goal ${goal}`);
}

/** Prints a line that helps to read a figure, or a figure without a goal. */
export function note(text: string): void {
  console.log(`         ${text}`);
}

/** Prints the ratio of two measurements of the same subject. The machine causes any difference, and every other ratio is as uncertain. */
export function control(name: string, ratio: number): void {
  const apart = Math.abs(ratio - 1) > 0.15 ? ', TOO FAR APART' : '';
  console.log(`control  ${name}: ${ratio.toFixed(2)} x between two measurements of the same subject${apart}`);
}

/** Prints every reported figure; returns whether all goals were reached. */
export function printTable(): boolean {
  const rows = [['figure', 'ours', 'anchor', 'ratio', 'goal', ''], ...reported.map(cellsOf)];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  console.log('');
  for (const row of rows) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
  }
  const missed = reported.filter((figure) => !isReached(figure)).length;
  console.log(`\n${reported.length - missed} of ${reported.length} goals reached`);
  return missed === 0;
}

function cellsOf(figure: Figure): string[] {
  const { name, ours, unit, anchor, goal } = figure;
  const [sign, bound] = 'most' in goal ? ['<=', goal.most] : ['>=', goal.least];
  return [
    name,
    withUnit(ours, unit),
    anchor ? `${anchor.name}: ${withUnit(anchor.value, unit)}` : '',
    anchor ? `${(ours / anchor.value).toFixed(2)} x` : '',
    `${sign} ${anchor ? `${bound.toFixed(2)} x` : withUnit(bound, unit)}`,
    isReached(figure) ? 'reached' : 'MISSED',
  ];
}

function isReached({ ours, anchor, goal }: Figure): boolean {
  const value = anchor ? ours / anchor.value : ours;
  return 'most' in goal ? value <= goal.most : value >= goal.least;
}

function withUnit(value: number, unit: Figure['unit']): string {
  const digits = Number.isInteger(value) || value >= 1000 ? value.toFixed(0) : value.toPrecision(3);
  return `${digits} ${unit}`.trimEnd();
}
