/** Where a field is in a text of YAML as devloop writes it. */
export interface FieldLines {
  /** The numbers of lines, the first one is 0. Of a field that is missing, that of the nearest one around it. */
  lines: number[];
  isThere: boolean;
}

interface Block {
  /** The line that begins it; -1 for the whole text. */
  at: number;
  from: number;
  to: number;
  /** The column in which its keys or items begin. */
  indent: number;
  /** The first line is that of the item itself: `- name: web`. */
  isItem?: boolean;
}

/**
 * Finds `spec.ports[0].name`, `metadata.labels[app.kubernetes.io/name]`, or `spec.rules[].colour` in each of the items. The YAML is laid out by
 * devloop, so columns tell where a field is, and nothing has to be parsed.
 */
export function fieldLines(text: string, path: string): FieldLines {
  const lines = text.split('\n');
  let blocks: Block[] = [{ at: -1, from: 0, to: lines.length, indent: 0 }];
  for (const token of tokensOf(path)) {
    const inner = blocks.flatMap((block) => inside(lines, block, token));
    if (inner.length === 0)
      return { lines: blocks.map(({ at }) => at).filter((at) => at >= 0), isThere: false };
    blocks = inner;
  }
  const found = blocks.map(({ at }) => at).filter((at) => at >= 0);
  return { lines: found, isThere: found.length > 0 };
}

function tokensOf(path: string): string[] {
  return [...path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)].map(
    ([, inBrackets, name]) => inBrackets ?? name ?? '',
  );
}

function inside(lines: string[], block: Block, token: string): Block[] {
  const { from, to, indent, isItem = false } = block;
  const begins: number[] = [];
  for (let at = from; at < to; at++)
    if ((isItem && at === from) || indentOf(lines[at]!) === indent) begins.push(at);
  const found = begins.filter((at) => keyIn(lines[at]!.slice(indent)) === token);
  if (found.length > 0)
    return found.map((at) => {
      const next = begins.find((one) => one > at) ?? to;
      // What is in a text only looks like fields.
      const isText = /[|>][-+0-9]*$/.test(lines[at]!);
      return { at, from: at + 1, to: isText ? at + 1 : next, indent: indent + 2 };
    });
  const items = begins.filter((at) => /^-( |$)/.test(lines[at]!.slice(indent)));
  const wanted = token === '' || token === '*' ? items : items.slice(Number(token), Number(token) + 1);
  return wanted.map((at) => {
    const next = items.find((one) => one > at) ?? to;
    return { at, from: at, to: next, indent: indent + 2, isItem: true };
  });
}

function indentOf(line: string): number {
  return line.search(/\S|$/);
}

/** The key at the beginning of a line: `name`, `"a: b"`. */
function keyIn(text: string): string | undefined {
  const [, double, single, plain] =
    /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s"'-][^\s]*?|-[^\s]+?)):(?: |$)/.exec(text) ?? [];
  return double ?? single ?? plain;
}
