import { useMemo, useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import { type Line, type Row, type Run, rowsOf, runsOf } from '../rows.ts';
import { type Mark, Messages } from './marked.tsx';

interface Props {
  before: string;
  after: string;
  titles: [before: string, after: string];
  /** What there is to say about lines of the second text. */
  marks: Mark[];
}

/** Two texts in columns. A changed line is marked by signs, too, not only by colour. */
export function SideBySide({ before, after, titles, marks }: Props) {
  const shown = new Set(marks.map(({ line }) => line));
  const runs = useMemo(() => runsOf(rowsOf(before, after), shown), [before, after]);
  const isEqual = runs.every(({ rows }) => rows.every(({ isSame }) => isSame));
  return (
    <table class="diff">
      <caption class={isEqual ? '' : 'hidden'}>
        {isEqual ? 'Nothing differs.' : `${titles[0]} and ${titles[1]}, line by line`}
      </caption>
      <thead>
        <tr>
          {titles.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      {runs.map((run, index) => (
        <Lines key={index} run={run} marks={marks} />
      ))}
    </table>
  );
}

function Lines({ run: { rows, isFolded, quiet }, marks }: { run: Run; marks: Mark[] }) {
  const [isOpen, setOpen] = useState(!isFolded);
  if (isOpen) {
    return (
      <tbody>
        {rows.map((row) => (
          <Pair
            key={`${row.left?.number} ${row.right?.number}`}
            row={row}
            marks={marks.filter(({ line }) => line === row.right?.number)}
          />
        ))}
      </tbody>
    );
  }
  return (
    <tbody>
      <tr>
        <td colSpan={2}>
          <button type="button" class="fold" onClick={() => setOpen(true)}>
            {foldText(rows.length, quiet)}
          </button>
        </td>
      </tr>
    </tbody>
  );
}

function foldText(lines: number, quiet: string[]): string {
  if (quiet.length === 0) return `Show ${lines} unchanged lines`;
  return `Show ${counted(lines, 'line')}, where only ${quiet.join(' and ')} differ${quiet.length === 1 ? 's' : ''}`;
}

function Pair({ row: { left, right, isSame }, marks }: { row: Row; marks: Mark[] }) {
  return (
    <tr class={isSame ? '' : 'differs'}>
      <Cell line={left} sign={isSame ? ' ' : '-'} marks={[]} />
      <Cell line={right} sign={isSame ? ' ' : '+'} marks={marks} />
    </tr>
  );
}

function Cell({ line, sign, marks }: { line: Line | undefined; sign: string; marks: Mark[] }) {
  if (line === undefined) return <td class="absent" />;
  const kind = { ' ': 'same', '-': 'removed', '+': 'added' }[sign];
  return (
    <td class={marks.length > 0 ? `${kind} marked ${marks[0]!.kind}` : kind}>
      {sign === ' ' ? null : <span class="hidden">{kind}: </span>}
      <code>
        {sign} {line.text}
      </code>
      {marks.length > 0 && <Messages marks={marks} />}
    </td>
  );
}
