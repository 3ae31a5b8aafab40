import { useState } from 'preact/hooks';
import { fieldLines } from '../fields.ts';
import type { FieldCause } from '../protocol.ts';
import { LAST_APPLIED_NAME, quietLines } from '../rows.ts';

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

/** Texts with more lines are shown without an element for each. */
const MOST_LINES = 5_000;

/** A text, with what there is to say at the end of its lines. What wraps stays to the right of where its line begins. */
export function Marked({ text, marks }: { text: string; marks: Mark[] }) {
  const [isOpen, setOpen] = useState(false);
  const lines = text.replace(/\n$/, '').split('\n');
  // biome-ignore lint/a11y/noNoninteractiveTabindex: long texts scroll, also by keys.
  if (lines.length > MOST_LINES) return <pre tabIndex={0}>{text}</pre>;
  const quiet = quietLines(lines);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long texts scroll, also by keys.
    <pre tabIndex={0}>
      {lines.map((line, index) => {
        const here = marks.filter((one) => one.line === index + 1);
        const isFolded = !isOpen && here.length === 0 && quiet[index] === LAST_APPLIED_NAME;
        if (!isFolded) return <MarkedLine key={index} text={line} marks={here} />;
        if (quiet[index - 1] === LAST_APPLIED_NAME) return null;
        return (
          <button key={index} type="button" class="fold" onClick={() => setOpen(true)}>
            Show {LAST_APPLIED_NAME}
          </button>
        );
      })}
    </pre>
  );
}

/** A block of its own, so that a line that follows begins with its spaces. */
function MarkedLine({ text, marks }: { text: string; marks: Mark[] }) {
  const indent = text.search(/\S|$/) + 2;
  return (
    <span
      class={marks.length === 0 ? 'line' : `line marked ${marks[0]!.kind}`}
      style={{ paddingLeft: `${indent}ch`, textIndent: `-${indent}ch` }}
    >
      {text === '' ? '\n' : text}
      {marks.length > 0 && ' '}
      {marks.length > 0 && <Messages marks={marks} />}
    </span>
  );
}

export function Messages({ marks }: { marks: Mark[] }) {
  return <span class="why">← {marks.map(({ message }) => message).join('; ')}</span>;
}
