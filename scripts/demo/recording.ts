/** A terminal recording as an animated SVG, in the colours of the reader's light or dark theme. */

export interface RecordedLine {
  /** Since the start of the recording. */
  atMs: number;
  /** May contain SGR escape sequences. */
  text: string;
}

const COLUMNS = 108;
const ROWS = 26;
const CHARACTER_WIDTH = 7.3;
const LINE_HEIGHT = 17;
const PADDING = 14;
/** Nobody wants to watch a build: longer pauses are cut to this. */
const LONGEST_PAUSE_MS = 1_500;
const SHORTEST_PAUSE_MS = 90;
const LAST_FRAME_MS = 6_000;

const STYLE = `
  svg { background: #ffffff; border-radius: 8px; }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre; }
  .bold { font-weight: 700 } .dim { fill: #6e7781 } .cyan { fill: #0550ae } .green { fill: #116329 } .red { fill: #cf222e } .yellow { fill: #7d4e00 }
  .cover { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117 } text { fill: #e6edf3 } .dim { fill: #8b949e } .cyan { fill: #79c0ff } .green { fill: #56d364 } .red { fill: #ff7b72 } .yellow { fill: #e3b341 }
    .cover { fill: #0d1117 }
  }`;

/** Draws the lines one after the other, and starts again after the last. */
export function drawRecording(lines: RecordedLine[]): string {
  const rows = lines.flatMap(({ atMs, text }) => wrapped(text).map((part) => ({ atMs, text: part })));
  const times = playTimes(rows);
  const totalMs = (times.at(-1) ?? 0) + LAST_FRAME_MS;
  const width = Math.round(COLUMNS * CHARACTER_WIDTH + 2 * PADDING);
  const height = ROWS * LINE_HEIGHT + 2 * PADDING;
  const scroll = times.map((ms, row) => frame(ms, totalMs, -Math.max(0, row + 1 - ROWS) * LINE_HEIGHT));
  const cover = times.map((ms, row) => frame(ms, totalMs, (row + 1) * LINE_HEIGHT));
  const seconds = (totalMs / 1000).toFixed(2);
  const end = -Math.max(0, rows.length - ROWS) * LINE_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A recording of devloop in a terminal">
<style>${STYLE}
  .scroll { transform: translateY(${end}px); animation: scroll ${seconds}s step-end infinite }
  .cover { animation: cover ${seconds}s step-end infinite }
  @media (prefers-reduced-motion: reduce) { .scroll { animation: none } .cover { display: none } }
  @keyframes scroll { 0% { transform: translateY(0) } ${scroll.join(' ')} }
  @keyframes cover { 0% { transform: translateY(0) } ${cover.join(' ')} }
</style>
<svg x="${PADDING}" y="${PADDING}" width="${width - 2 * PADDING}" height="${ROWS * LINE_HEIGHT}" overflow="hidden">
<g class="scroll">
${rows.map(({ text }, row) => `<text y="${row * LINE_HEIGHT + 12}">${spans(text)}</text>`).join('\n')}
<rect class="cover" width="100%" height="${(rows.length + ROWS) * LINE_HEIGHT}"/>
</g>
</svg>
</svg>
`;
}

function playTimes(lines: RecordedLine[]): number[] {
  let played = 0;
  return lines.map(({ atMs }, index) => {
    const pause = index === 0 ? 0 : atMs - lines[index - 1]!.atMs;
    played += Math.min(Math.max(pause, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
    return played;
  });
}

function frame(ms: number, totalMs: number, y: number): string {
  return `${((ms / totalMs) * 100).toFixed(2)}% { transform: translateY(${y}px) }`;
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
function spans(text: string): string {
  let style = '';
  return text
    .split(new RegExp(SGR, 'g'))
    .map((part, index) => {
      if (index % 2 === 1) {
        style = CLASSES[part] ?? '';
        return '';
      }
      if (part === '') return '';
      return style === '' ? escaped(part) : `<tspan class="${style}">${escaped(part)}</tspan>`;
    })
    .join('');
}

const CONTINUED = '      ';

/** Continues longer lines below, as a terminal of that width does. Does not wrap a line with colours after its beginning. */
function wrapped(text: string): string[] {
  const [front = ''] = new RegExp(`^(?:${SGR.source}|[^\\w$])*`).exec(text) ?? [];
  const width = COLUMNS - front.replaceAll(new RegExp(SGR, 'g'), '').length;
  const plain = text.slice(front.length);
  if (SGR.test(plain) || plain.length <= width) return [text];
  const space = plain.lastIndexOf(' ', width);
  const end = space > width / 2 ? space : width;
  return [front + plain.slice(0, end), ...wrapped(CONTINUED + plain.slice(end).trimStart())];
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
