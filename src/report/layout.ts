const COLUMN = 13;

/** What it is about in the first column, then the rest; further lines stay in the second, so none can pose as another event. */
export function row(first: string, rest: string): string {
  return `${first.padEnd(COLUMN)} ${indented(rest, COLUMN + 1)}`.trimEnd();
}

/** The first line stands as it is; the others begin at the column. */
export function indented(text: string, column: number): string {
  return text.trimEnd().replaceAll('\n', `\n${' '.repeat(column)}`);
}

export function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ');
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
