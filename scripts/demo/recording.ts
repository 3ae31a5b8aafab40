/** A terminal recording as an animated SVG, in the colours of the reader's light or dark theme. */

export interface RecordedLine {
  /** Since the start of the recording. */
  atMs: number;
  /** May contain SGR escape sequences. */
  text: string;
}

interface Terminal {
  name: string;
  columns: number;
  rows: number;
  fontSize: number;
  lineHeight: number;
  /** The rest of a long line begins below its text, but not farther from the left than this. */
  mostIndent: number;
}

const CHARACTER_WIDTH = 8.5;
const PADDING = 14;
const WIDE = { name: 'wide', columns: 80, rows: 24, fontSize: 14, lineHeight: 19.5, mostIndent: 14 };
const WIDTH = WIDE.columns * CHARACTER_WIDTH + 2 * PADDING;
const HEIGHT = WIDE.rows * WIDE.lineHeight + 2 * PADDING;
/** For telephones, where the picture has about half its width: larger letters in the same frame. */
const NARROW = { name: 'narrow', columns: 46, rows: 15, fontSize: 24, lineHeight: 31.2, mostIndent: 4 };
const NARROW_BELOW_PX = 500;

/** So long the first screen is shown, which is full. */
const FIRST_FRAME_MS = 4_000;
/** Nobody wants to watch a build: longer pauses are cut to this. */
const LONGEST_PAUSE_MS = 1_500;
const SHORTEST_PAUSE_MS = 120;
const LAST_FRAME_MS = 6_000;

const STYLE = `
  svg { background: #ffffff; border-radius: 8px; }
  text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre; }
  .bold { font-weight: 700 } .dim { fill: #6e7781 } .cyan { fill: #0550ae } .green { fill: #116329 } .red { fill: #cf222e } .yellow { fill: #7d4e00 }
  .cover { fill: #ffffff }
  .narrow { display: none }
  @media (max-width: ${NARROW_BELOW_PX}px) { .wide { display: none } .narrow { display: inline } }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117 } text { fill: #e6edf3 } .dim { fill: #8b949e } .cyan { fill: #79c0ff } .green { fill: #56d364 } .red { fill: #ff7b72 } .yellow { fill: #e3b341 }
    .cover { fill: #0d1117 }
  }
  @media (prefers-reduced-motion: reduce) { .scroll { animation: none !important } .cover { display: none } }`;

/** Draws the lines one after the other, and starts again after the last. */
export function drawRecording(lines: RecordedLine[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="A recording of devloop in a terminal">
<style>${STYLE}
</style>
<svg x="${PADDING}" y="${PADDING}" width="${WIDTH - 2 * PADDING}" height="${HEIGHT - 2 * PADDING}" overflow="hidden">
${[WIDE, NARROW].map((terminal) => drawIn(terminal, lines)).join('\n')}
</svg>
</svg>
`;
}

function drawIn({ name, lineHeight, fontSize, ...terminal }: Terminal, lines: RecordedLine[]): string {
  const wrappedLines = lines.map(({ text }) => wrapped(text, terminal));
  const rows = wrappedLines.flat();
  let shown = 0;
  const ends = wrappedLines.map((parts) => (shown += parts.length));
  const first = ends.findLastIndex((end) => end <= terminal.rows);
  const times = playTimes(lines.slice(first));
  const totalMs = times.at(-1)! + LAST_FRAME_MS;
  const frames = (offset: (end: number) => number): string =>
    times.map((ms, at) => frame(ms / totalMs, offset(ends[first + at]!) * lineHeight)).join(' ');
  const hidden = (end: number): number => -Math.max(0, end - terminal.rows);
  const seconds = (totalMs / 1000).toFixed(2);
  return `<style>
  .${name} .scroll { transform: translateY(${hidden(rows.length) * lineHeight}px); animation: scroll-${name} ${seconds}s step-end infinite }
  .${name} .cover { animation: cover-${name} ${seconds}s step-end infinite }
  @keyframes scroll-${name} { ${frames(hidden)} }
  @keyframes cover-${name} { ${frames((end) => end)} }
</style>
<g class="${name}" font-size="${fontSize}"><g class="scroll">
${rows.map((row, at) => `<text y="${(at * lineHeight + fontSize).toFixed(1)}">${row.map(span).join('')}</text>`).join('\n')}
<rect class="cover" width="100%" height="${(rows.length + terminal.rows) * lineHeight}"/>
</g></g>`;
}

function playTimes(lines: RecordedLine[]): number[] {
  let played = 0;
  return lines.map(({ atMs }, index) => {
    const pause = index === 0 ? 0 : atMs - lines[index - 1]!.atMs;
    if (index === 1) played = FIRST_FRAME_MS;
    else if (index > 1) played += Math.min(Math.max(pause, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
    return played;
  });
}

function frame(part: number, y: number): string {
  return `${(part * 100).toFixed(2)}% { transform: translateY(${y.toFixed(1)}px) }`;
}

interface Piece {
  text: string;
  style: string;
}

const SGR = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`);
const CLASSES: Record<string, string> = {
  1: 'bold',
  2: 'dim',
  31: 'red',
  32: 'green',
  33: 'yellow',
  36: 'cyan',
};

/** A line with one style at a time, which is all that the demo uses. */
function pieces(text: string): Piece[] {
  let style = '';
  return text.split(new RegExp(SGR, 'g')).flatMap((part, index) => {
    if (index % 2 === 1) style = CLASSES[part] ?? '';
    return index % 2 === 1 || part === '' ? [] : [{ text: part, style }];
  });
}

/** As `main package  `, or the spaces before an output. */
const LABEL = /^(?:\S+(?: \S+)?)? {2,}/;

function textOf(line: Piece[]): string {
  return line.map(({ text }) => text).join('');
}

/** Continues a longer line below, with the mark of who prints it, as `up | `. */
function wrapped(line: string, { columns, mostIndent }: Pick<Terminal, 'columns' | 'mostIndent'>): Piece[][] {
  const all = pieces(line);
  const mark = all[0] !== undefined && /^ \w+ \| $/.test(all[0].text) ? [all[0]] : [];
  const width = columns - (mark[0]?.text.length ?? 0);
  const rows: Piece[][] = [];
  let rest = all.slice(mark.length);
  const label = LABEL.exec(textOf(rest))?.[0].length ?? 2;
  const indent = { text: ' '.repeat(Math.min(label, mostIndent)), style: '' };
  for (;;) {
    const plain = textOf(rest);
    if (plain.length <= width) return [...rows, [...mark, ...rest]];
    const end = breakIn(plain, width);
    rows.push([...mark, ...cut(rest, 0, end)]);
    const next = end + /^ */.exec(plain.slice(end))![0].length;
    rest = [indent, ...cut(rest, next, plain.length)];
  }
}

/** Between two words, or else within a long name, after a mark. */
function breakIn(plain: string, width: number): number {
  const space = plain.lastIndexOf(' ', width);
  if (space > width / 2) return space;
  const mark = /^.*[-/,.:=]/.exec(plain.slice(0, width))?.[0].length ?? 0;
  return mark > width / 2 ? mark : width;
}

function cut(line: Piece[], from: number, to: number): Piece[] {
  let at = 0;
  return line.flatMap(({ text, style }) => {
    const part = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += text.length;
    return part === '' ? [] : [{ text: part, style }];
  });
}

function span({ text, style }: Piece): string {
  return style === '' ? escaped(text) : `<tspan class="${style}">${escaped(text)}</tspan>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
