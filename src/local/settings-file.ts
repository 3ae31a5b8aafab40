import { isMap, isScalar, parseAllDocuments, type Scalar, visit } from 'yaml';

/**
 * Returns the new value of a setting, or undefined to keep the old one. `value` has no quotes; those in the file are kept. `outer` is the
 * key of the map or table that contains the setting.
 */
export type Change = (key: string, outer: string, value: string) => string | undefined;

/**
 * Changes settings in a configuration file (YAML, JSON, TOML, or lines of `name = value`); undefined if none changes. The file is edited as
 * text, so that its comments and order are preserved.
 */
export function editSettings(text: string, change: Change): string | undefined {
  const inQuotes: Change = (key, outer, written) => {
    const [, quote = '', value = ''] = /^(["']?)(.*)\1$/s.exec(written) ?? [];
    const became = change(key, outer, value);
    return became === undefined ? undefined : quote + became + quote;
  };
  const changed = editYaml(text, inQuotes) ?? editLines(text, inQuotes);
  return changed === text ? undefined : changed;
}

type Parsed = ReturnType<typeof parseAllDocuments>[number];

/** Edits the text as YAML; undefined if it is not YAML with keys. */
function editYaml(text: string, change: Change): string | undefined {
  const documents = parseAllDocuments(text);
  // A document is empty if `---` ends a file, or separates its first comment from the rest.
  const isEmpty = ({ contents }: Parsed): boolean =>
    contents === null || (isScalar(contents) && contents.value === null);
  const isBroken = (one: Parsed): boolean => one.errors.length > 0 || !(isMap(one.contents) || isEmpty(one));
  if (documents.some(isBroken) || documents.every(isEmpty)) return undefined;
  const edits: { from: number; to: number; value: string }[] = [];
  for (const document of documents)
    visit(document, {
      Pair(_, { key, value }, path) {
        if (!isScalar(key) || !isScalar(value)) return;
        const parent = path.findLast((one) => typeof one === 'object' && one !== null && 'key' in one);
        const outer = parent && isScalar(parent.key) ? String(parent.key.value) : '';
        const became = change(String(key.value), outer, sourceOf(text, value));
        if (became !== undefined) edits.push({ from: value.range![0], to: value.range![1], value: became });
      },
    });
  return edits
    .toReversed()
    .reduce((changed, { from, to, value }) => changed.slice(0, from) + value + changed.slice(to), text);
}

function sourceOf(text: string, { range }: Scalar): string {
  return range ? text.slice(range[0], range[1]) : '';
}

/** Does not use `.`, which does not match the carriage return at the end of a Windows line. */
const ASSIGNMENT =
  /^(\s*(?:export\s+)?["']?([\w.-]+)["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[\w.:]+)(?=\s*(?:[#;,][^\n]*)?$)/;
const INLINE_TABLE = /^(\s*["']?([\w.-]+)["']?\s*=\s*\{)(.*)(\}\s*(?:#[^\n]*)?)$/;

function editLines(text: string, change: Change): string {
  let section = '';
  return text
    .split('\n')
    .map((line) => {
      section = sectionIn(line) ?? section;
      return editLine(line, { section: section.split('.').at(-1)!, mostTables: MOST_TABLES, change });
    })
    .join('\n');
}

/** The name in `[name]` or `[[name]]`. This is not a regular expression, because one would scan a long line again and again. */
function sectionIn(line: string): string | undefined {
  const text = line.replace(/[#;][^\n]*$/, '').trim();
  if (!text.startsWith('[') || !text.endsWith(']')) return undefined;
  let [from, to] = [1, text.length - 1];
  while (text[from] === '[') from += 1;
  while (to > from && text[to - 1] === ']') to -= 1;
  const name = text.slice(from, to).trim();
  return name === '' || name.includes(']') ? undefined : name;
}

/** The limit for nesting: nobody nests inline tables deeper. */
const MOST_TABLES = 10;

function editLine(
  line: string,
  { section, mostTables, change }: { section: string; mostTables: number; change: Change },
): string {
  const table = mostTables > 0 ? INLINE_TABLE.exec(line) : null;
  if (table) {
    const [, head, name = '', inside = '', tail] = table;
    return (
      head +
      inside
        .split(',')
        .map((one) => editLine(one, { section: name, mostTables: mostTables - 1, change }))
        .join(',') +
      tail
    );
  }
  return line.replace(ASSIGNMENT, (all, head: string, key: string, value: string) => {
    const became = change(key.split('.').at(-1)!, key.split('.').at(-2) ?? section, value);
    return became === undefined ? all : head + became;
  });
}
