import { fieldLines } from '../fields.ts';
import type { FieldCause } from '../protocol.ts';

/** Something to say about a line of a text. */
export interface Mark {
  /** The first line is 1. */
  line: number;
  kind: 'refused' | 'pruned';
  message: string;
}

/** Looking for fields in larger texts would take longer than a frame. */
const LONGEST = 500_000;

/** The lines of the fields that are named. Of a field that is missing, that of the nearest one around it. */
export function marksOf(text: string, named: FieldCause[], kind: Mark['kind']): Mark[] {
  if (text.length > LONGEST) return [];
  return named.flatMap(({ field, message }) =>
    fieldLines(text, field).lines.map((at) => ({
      ...{ line: at + 1, kind },
      message: kind === 'pruned' ? message : `${field}: ${message}`,
    })),
  );
}

/** A text, with what there is to say at the end of its lines. */
export function Marked({ text, marks }: { text: string; marks: Mark[] }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: long texts scroll, also by keys.
  if (marks.length === 0) return <pre tabIndex={0}>{text}</pre>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long texts scroll, also by keys.
    <pre tabIndex={0}>
      {text.split('\n').map((line, index) => (
        <MarkedLine key={index} text={`${line}\n`} marks={marks.filter((one) => one.line === index + 1)} />
      ))}
    </pre>
  );
}

function MarkedLine({ text, marks }: { text: string; marks: Mark[] }) {
  if (marks.length === 0) return <>{text}</>;
  return (
    <span class={`marked ${marks[0]!.kind}`}>
      {text.slice(0, -1)} <Messages marks={marks} />
      {'\n'}
    </span>
  );
}

export function Messages({ marks }: { marks: Mark[] }) {
  return <span class="why">← {marks.map(({ message }) => message).join('; ')}</span>;
}
