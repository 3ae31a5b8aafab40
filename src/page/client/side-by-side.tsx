import { useMemo, useState } from 'preact/hooks';
import { type Line, type Row, type Run, rowsOf, runsOf } from '../rows.ts';

interface Props {
  before: string;
  after: string;
  titles: [before: string, after: string];
}

/** Two texts in columns. A changed line is marked by signs, too, not only by colour. */
export function SideBySide({ before, after, titles }: Props) {
  const runs = useMemo(() => runsOf(rowsOf(before, after)), [before, after]);
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
        <Lines key={index} run={run} />
      ))}
    </table>
  );
}

function Lines({ run: { rows, isFolded } }: { run: Run }) {
  const [isOpen, setOpen] = useState(!isFolded);
  if (isOpen) {
    return (
      <tbody>
        {rows.map((row) => (
          <Pair key={`${row.left?.number} ${row.right?.number}`} row={row} />
        ))}
      </tbody>
    );
  }
  return (
    <tbody>
      <tr>
        <td colSpan={2}>
          <button type="button" class="fold" onClick={() => setOpen(true)}>
            Show {rows.length} unchanged lines
          </button>
        </td>
      </tr>
    </tbody>
  );
}

function Pair({ row: { left, right, isSame } }: { row: Row }) {
  return (
    <tr class={isSame ? '' : 'differs'}>
      <Cell line={left} sign={isSame ? ' ' : '-'} />
      <Cell line={right} sign={isSame ? ' ' : '+'} />
    </tr>
  );
}

function Cell({ line, sign }: { line: Line | undefined; sign: string }) {
  if (line === undefined) return <td class="absent" />;
  const kind = { ' ': 'same', '-': 'removed', '+': 'added' }[sign];
  return (
    <td class={kind}>
      {sign === ' ' ? null : <span class="hidden">{kind}: </span>}
      <code>
        {sign} {line.text}
      </code>
    </td>
  );
}
