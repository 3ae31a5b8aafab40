import {
  findNodeAtLocation,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
  stripComments,
} from 'jsonc-parser';

/** The object in a file of an editor, which can have comments and trailing commas; or why there is none. */
export function objectIn(text: string): { file: Record<string, unknown> } | { problem: string } {
  const errors: ParseError[] = [];
  const file: unknown = parse(text, errors, { allowTrailingComma: true });
  if (errors[0] !== undefined)
    return { problem: `${printParseErrorCode(errors[0].error)} in line ${lineAt(text, errors[0].offset)}` };
  if (file === null || typeof file !== 'object' || Array.isArray(file))
    return { problem: 'it is not an object' };
  return { file: file as Record<string, unknown> };
}

/**
 * Adds an entry at the end of the list or object `key`, or that to the file. `name`: of an entry of an object. No library does this without
 * changing something else in the file.
 */
export function withEntry(text: string, key: string, value: object, name?: string): string {
  const root = parseTree(text, [], { allowTrailingComma: true })!;
  const list = findNodeAtLocation(root, [key]);
  const into = list ?? root;
  const last = into.children?.at(-1);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const unit = indentation(text);
  const indent = unit.repeat(list ? 2 : 1);
  const whole = name === undefined ? [value] : { [name]: value };
  const written = (what: object): string => JSON.stringify(what, null, unit);
  const named = name === undefined ? '' : `${JSON.stringify(name)}: `;
  const entry = list ? named + written(value) : `${JSON.stringify(key)}: ${written(whole)}`;
  const lines = entry.split('\n').map((line) => indent + line);
  // Comments after the last entry belong to it, so the new one stands right before the closing bracket.
  const from = last ? last.offset + last.length : into.offset + 1;
  const end = into.offset + into.length - 1;
  const between = text.slice(from, end);
  const comma = last && !stripComments(between).includes(',') ? ',' : '';
  const kept = `${comma}${between.trimEnd()}`;
  return `${text.slice(0, from)}${kept}${eol}${lines.join(eol)}${eol}${unit.repeat(list ? 1 : 0)}${text.slice(end)}`;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The indentation of the first indented line. */
function indentation(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '    ';
}
