import { LineCounter, parseDocument } from 'yaml';
import { readSettings } from './settings.ts';
import type { Config } from './table.ts';

export interface Problem {
  line: number;
  column: number;
  message: string;
}

export type Parsed = { config: Config } | { problems: Problem[] };

interface Found {
  offset: number;
  message: string;
}

/** Finds all problems of the text at once, in the order of the text. Never throws. */
export function parseConfig(text: string): Parsed {
  const lines = new LineCounter();
  const { config, found } = read(text, lines);
  if (found.length === 0) return { config };
  const problems = found
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => ({ ...position(lines, offset), message }));
  return { problems };
}

function read(text: string, lineCounter: LineCounter): { config: Config; found: Found[] } {
  try {
    const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
    const broken = [...document.errors, ...document.warnings].map(({ pos, code, message }) => ({
      offset: pos[0],
      message: SYNTAX[code] ?? lowerFirst(message),
    }));
    const { config, problems } = readSettings(document.contents);
    // After the first broken line the parser only guesses, so problems that it finds there are not always real.
    const lineOf = ({ offset }: Found): number => position(lineCounter, offset).line;
    const end = Math.min(...broken.map(lineOf));
    const trusted = problems.filter((problem) => lineOf(problem) < end);
    return { config, found: [...firstOfEachLine(broken, lineCounter), ...trusted] };
  } catch (error) {
    return {
      config: {},
      found: [{ offset: 0, message: `not readable as YAML: ${(error as Error).message}` }],
    };
  }
}

const SYNTAX: Record<string, string> = {
  MULTIPLE_DOCS: 'expected one document, but `---` begins another one here',
  TAB_AS_INDENT: 'a tab cannot indent YAML; use spaces',
  RESOURCE_EXHAUSTION: 'nested too deeply',
  TAG_RESOLVE_FAILED: 'tags (`!…`) are not supported',
};

/** Keeps the first error of each line, because one mistake can make the parser report several errors. */
function firstOfEachLine(found: Found[], lines: LineCounter): Found[] {
  const seen = new Set<number>();
  return found.filter(({ offset }) => {
    const { line } = position(lines, offset);
    return !seen.has(line) && seen.add(line);
  });
}

function position(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
