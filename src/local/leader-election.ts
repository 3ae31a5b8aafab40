import { isMap, isScalar, parseAllDocuments, type Scalar, visit } from 'yaml';
import { electionSwitch } from '../operator/leader-election.ts';

export const ELECTION_OFF = 'leader election only works in a Pod';

const TRUE = /^(?:true|t|1|yes|y|on|enabled?)$/i;
const FALSE = /^(?:false|f|0|no|n|off|disabled?)$/i;

/** The opposite of a boolean, written in the same way; undefined for anything else. */
const OPPOSITES: Record<string, string> = Object.fromEntries(
  ['true false', 't f', '1 0', 'yes no', 'y n', 'on off', 'enabled disabled', 'enable disable']
    .map((pair) => pair.split(' ') as [string, string])
    .flatMap(([yes, no]) => [
      [yes, no],
      [no, yes],
    ]),
);

/** The value that turns leader election off, in the style of the one that turns it on; undefined where it does not. */
export function electionOff(sense: 'on' | 'inverse', value: string): string | undefined {
  if (!(sense === 'on' ? TRUE : FALSE).test(value)) return undefined;
  const opposite = OPPOSITES[value.toLowerCase()]!;
  if (value === value.toUpperCase()) return opposite.toUpperCase();
  return /^[A-Z]/.test(value) ? opposite[0]!.toUpperCase() + opposite.slice(1) : opposite;
}

/** A variable that turned leader election on. */
export interface VariableChange {
  name: string;
  before: string;
  after: string;
}

/** `bound`: variables that the sources read for the option, whatever their names. */
export function variablesWithoutElection(
  variables: Record<string, string>,
  bound: ReadonlySet<string>,
): VariableChange[] {
  return Object.entries(variables).flatMap(([name, before]) => {
    const sense = electionSwitch(name) ?? (bound.has(name) ? 'on' : undefined);
    const after = sense && electionOff(sense, before);
    return after === undefined ? [] : [{ name, before, after }];
  });
}

/**
 * A configuration file with leader election turned off: YAML and JSON, TOML, and files of `name = value`; undefined where it is not
 * on. The file is edited as text, so that comments and order stay.
 */
export function fileWithoutElection(text: string): string | undefined {
  if (!/leader[-_]?elect/i.test(text)) return undefined;
  const changed = withoutInYaml(text) ?? withoutInLines(text);
  return changed === text ? undefined : changed;
}

/** Undefined where the text is not YAML with keys. */
function withoutInYaml(text: string): string | undefined {
  const documents = parseAllDocuments(text);
  if (
    !Array.isArray(documents) ||
    documents.some(({ errors, contents }) => errors.length > 0 || !isMap(contents))
  )
    return undefined;
  const edits: { from: number; to: number; value: string }[] = [];
  for (const document of documents)
    visit(document, {
      Pair(_, { key, value }, path) {
        if (!isScalar(key) || !isScalar(value)) return;
        const parent = path.findLast((one) => typeof one === 'object' && one !== null && 'key' in one);
        const outer = parent && isScalar(parent.key) ? String(parent.key.value) : '';
        const off = offFor(String(key.value), outer, sourceOf(text, value));
        if (off !== undefined) edits.push({ from: value.range![0], to: value.range![1], value: off });
      },
    });
  return edits
    .toReversed()
    .reduce((changed, { from, to, value }) => changed.slice(0, from) + value + changed.slice(to), text);
}

function sourceOf(text: string, { range }: Scalar): string {
  return range ? text.slice(range[0], range[1]) : '';
}

/** `leaderElection: {enabled: true}` counts as the switch `leaderElection.enabled`. `written` may have quotes, which stay. */
function offFor(key: string, outer: string, written: string): string | undefined {
  const sense = electionSwitch(key) ?? (electionSwitch(outer) && electionSwitch(`${outer}_${key}`));
  const [, quote = '', value = ''] = /^(["']?)(.*)\1$/s.exec(written) ?? [];
  const off = sense && electionOff(sense, value);
  return off === undefined ? undefined : quote + off + quote;
}

const ASSIGNMENT =
  /^(\s*(?:export\s+)?["']?([\w.-]+)["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[\w]+)(?=\s*(?:[#;,].*)?$)/;
const INLINE_TABLE = /^(\s*["']?([\w.-]+)["']?\s*=\s*\{)(.*)(\}\s*(?:#.*)?)$/;

function withoutInLines(text: string): string {
  let section = '';
  return text
    .split('\n')
    .map((line) => {
      section = sectionIn(line) ?? section;
      return withoutInLine(line, section.split('.').at(-1)!, MOST_TABLES);
    })
    .join('\n');
}

/** The name in `[name]` or `[[name]]`. Without a regular expression, which would look at a long line again and again. */
function sectionIn(line: string): string | undefined {
  const text = line.replace(/[#;].*$/, '').trim();
  if (!text.startsWith('[') || !text.endsWith(']')) return undefined;
  let [from, to] = [1, text.length - 1];
  while (text[from] === '[') from += 1;
  while (to > from && text[to - 1] === ']') to -= 1;
  const name = text.slice(from, to).trim();
  return name === '' || name.includes(']') ? undefined : name;
}

/** Nobody nests inline tables more. */
const MOST_TABLES = 10;

function withoutInLine(line: string, section: string, mostTables: number): string {
  const table = mostTables > 0 ? INLINE_TABLE.exec(line) : null;
  if (table) {
    const [, head, name = '', inside = '', tail] = table;
    return (
      head +
      inside
        .split(',')
        .map((one) => withoutInLine(one, name, mostTables - 1))
        .join(',') +
      tail
    );
  }
  return line.replace(ASSIGNMENT, (all, head: string, key: string, value: string) => {
    const off = offFor(key.split('.').at(-1)!, key.split('.').at(-2) ?? section, value);
    return off === undefined ? all : head + off;
  });
}
