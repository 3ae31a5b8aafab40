import { isNoSecret, namesSecret, REFERENCES } from './secret-names.ts';

/** Finds the values of fields in texts of several lines: properties, variables, YAML, TOML, and JSON with comments. */

type Hide = (secret: string) => string;

/** The name of a field at the beginning of a line. */
const NAME = /^(?<indent>[ \t]*(?:- +)?(?:export +)?)(?<quote>["']?)(?<name>[A-Za-z_][\w./-]*)\k<quote>/;
/** What separates the name from the value, which may be on the next lines. */
const SEPARATOR = /^[ \t]*(?:(?<colon>:)(?:[ \t]+|$)|=[ \t]*)/;
/** A block of YAML: the value is in the following lines, which are indented further. */
const BLOCK = /^[|>][-+\d]*$/;

/** Where a value that began on an earlier line ends. */
type Open =
  | { is: 'indented'; column: number; keepsReferences: boolean }
  | { is: 'quoted'; quote: string }
  | { is: 'nested'; depth: number };

/** Whether lines with colons are fields: see `Hiding`. */
export function hideLines(text: string, hide: Hide, hasColons: boolean): string {
  let open: Open | undefined;
  const shown = text.split('\n').map((line) => {
    const continued = open && continueValue(line, open, hide);
    open = continued?.open;
    if (continued?.text !== undefined) return continued.text;
    const field = fieldIn(line, hasColons);
    if (field === undefined || !namesSecret(field.name)) return line;
    open = openedBy(field);
    const { before, value } = field;
    const hides = value !== '' && !BLOCK.test(value) && !isNoSecret(value);
    return hides ? before + hide(value) : line;
  });
  return shown.join('\n');
}

interface Field {
  name: string;
  /** Everything before the value. */
  before: string;
  value: string;
  column: number;
  hasColon: boolean;
}

function fieldIn(line: string, hasColons: boolean): Field | undefined {
  const { indent = '', name } = NAME.exec(line)?.groups ?? {};
  if (name === undefined) return undefined;
  const named = NAME.exec(line)![0];
  const separated = SEPARATOR.exec(line.slice(named.length));
  const hasColon = separated?.groups?.colon !== undefined;
  if (separated === null || (hasColon && !hasColons)) return undefined;
  const before = named + separated[0];
  return { name, before, value: line.slice(before.length), column: indent.length, hasColon };
}

/** Whether the value goes on in the next lines. */
function openedBy({ value, column, hasColon }: Field): Open | undefined {
  const quote = /^(?:"""|'''|"|')/.exec(value)?.[0];
  if (quote !== undefined)
    return value.indexOf(quote, quote.length) < 0 ? { is: 'quoted', quote } : undefined;
  const depth = /^[{[]/.test(value) ? depthIn(value) : 0;
  if (depth > 0) return { is: 'nested', depth };
  return hasColon ? { is: 'indented', column, keepsReferences: value === '' } : undefined;
}

function continueValue(line: string, open: Open, hide: Hide): { text?: string; open?: Open } | undefined {
  const content = line.trim();
  if (open.is === 'quoted') {
    const end = line.indexOf(open.quote);
    if (end < 0) return { text: hiddenLine(line, hide), open };
    const rest = end + open.quote.length;
    return { text: hiddenLine(line.slice(0, rest), hide) + line.slice(rest) };
  }
  if (open.is === 'nested') {
    const depth = open.depth + depthIn(line);
    if (depth <= 0 && /^[\]}),;\s]*$/.test(line)) return { text: line };
    return { text: hiddenLine(line, hide), ...(depth > 0 ? { open: { is: 'nested', depth } } : {}) };
  }
  const indent = line.length - line.trimStart().length;
  const isItem = open.keepsReferences && indent === open.column && content.startsWith('- ');
  if (content !== '' && indent <= open.column && !isItem) return undefined;
  return { text: open.keepsReferences ? hiddenEntry(line, hide) : hiddenLine(line, hide), open };
}

/** A line below the name of a secret: `secretName: db` only says where it is. */
function hiddenEntry(line: string, hide: Hide): string {
  const field = fieldIn(line, true);
  if (field === undefined) return hiddenLine(line, hide);
  const { name, before, value } = field;
  const isKept = REFERENCES.has(name) || value === '' || BLOCK.test(value) || isNoSecret(value);
  return isKept ? line : before + hide(value);
}

function hiddenLine(line: string, hide: Hide): string {
  const [indent = ''] = /^[ \t]*(?:- +)?/.exec(line) ?? [];
  const value = line.slice(indent.length);
  if (value.trim() === '') return '';
  return isNoSecret(value) ? line : indent + hide(value);
}

function depthIn(text: string): number {
  let depth = 0;
  for (const character of text) {
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
  }
  return depth;
}
