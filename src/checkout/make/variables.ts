import { evaluated } from './make-functions.ts';

/** `NAME ?= value` and the other assignments of a Makefile; `ARG NAME=value` and `ENV NAME=value` in a Dockerfile. */
const ASSIGNMENT =
  /^(?:(?:export|override|private|readonly|ARG|ENV)\s+)*(\w+)[ \t]*(\?|\+|!|:{0,3})=[ \t]*(.*)$/;
/** `$@` is the target of a rule, `$(@F)` its last part; a shell's `${NAME:-value}` contains the value of an unset variable. */
const REFERENCE = /\$(?:\((@F|\w+)\)|\{(\w+)(?::?-([^${}]*))?\}|(@|\w+))/g;
/** Variables can refer to each other in a cycle. */
const MAX_DEPTH = 8;

/** Sets the variable that a line of a Makefile, Dockerfile or script assigns, if any. Values are not expanded. */
export function assign(line: string, variables: Map<string, string>): void {
  const [, name = '', operator, written = ''] = ASSIGNMENT.exec(line) ?? [];
  if (name === '') return;
  const before = variables.get(name);
  const value = withBefore(written.replace(/\s+#.*$|^#.*$/, '').trim(), name, before);
  if (operator === '!') variables.set(name, `$(shell ${value})`);
  else if (operator === '+' && before !== undefined) variables.set(name, `${before} ${value}`);
  else if (operator !== '?' || before === undefined) variables.set(name, value);
}

/** `FLAGS="$FLAGS -s"` refers to the previous value. */
function withBefore(value: string, name: string, before: string | undefined): string {
  const own = value.startsWith('"') ? before?.replace(/^"(.*)"$/, '$1') : before;
  return value.replace(REFERENCE, (written, ...found) =>
    nameIn(found) === name ? (own ?? valueIn(found) ?? written) : written,
  );
}

/** Expands variables as make does, unknown ones to nothing; undefined if a function or a shell command would have to be evaluated. */
export function expandVariables(text: string, variables: Map<string, string>): string | undefined {
  const known = expandKnown(text, variables).replace(REFERENCE, (written, ...found) =>
    variables.has(nameIn(found)) ? written : '',
  );
  const expanded = evaluated(known);
  return expanded.includes('$') ? undefined : expanded;
}

/** Expands known variables and functions, and leaves others as they are. */
export function expandKnown(text: string, variables: Map<string, string>): string {
  return evaluated(expandReferences(text, variables));
}

function expandReferences(text: string, variables: Map<string, string>, depth = 0): string {
  const expanded = text.replace(
    REFERENCE,
    (written, ...found) => variables.get(nameIn(found)) ?? valueIn(found) ?? written,
  );
  return expanded === text || depth === MAX_DEPTH
    ? expanded
    : expandReferences(expanded, variables, depth + 1);
}

type Found = (string | undefined)[];

function nameIn([round, curly, , bare]: Found): string {
  return round ?? curly ?? bare ?? '';
}

function valueIn([, , otherwise]: Found): string | undefined {
  return otherwise;
}
