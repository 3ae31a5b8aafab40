/** `NAME ?= value` and the like of a Makefile, `ARG NAME=value` and `ENV NAME=value` of a Dockerfile. */
const ASSIGNMENT = /^(?:export\s+|ARG\s+|ENV\s+)?(\w+)[ \t]*(\?|\+|:{0,3})=[ \t]*([^\n]*)$/gm;
const REFERENCE = /\$(?:\((\w+)\)|\{(\w+)\}|(\w+))/g;
/** As of variables that name each other for ever. */
const MAX_DEPTH = 8;

/** Variables as plain text; a target's own, which are indented, are left out. */
export function buildVariables(text: string): Map<string, string> {
  const variables = new Map<string, string>();
  for (const [, name = '', operator, written = ''] of text.matchAll(ASSIGNMENT)) {
    const value = written.replace(/\s+#.*$|^#.*$/, '').trim();
    const before = variables.get(name);
    if (operator === '+' && before !== undefined) variables.set(name, `${before} ${value}`);
    else if (operator !== '?' || before === undefined) variables.set(name, value);
  }
  return variables;
}

/** With the values of its variables, of which an unknown one is empty, as in make; undefined where a function or a shell has a say. */
export function expandVariables(text: string, variables: Map<string, string>): string | undefined {
  const expanded = expandKnown(text, variables).replace(REFERENCE, (written, ...names) =>
    variables.has(nameIn(names)) ? written : '',
  );
  return expanded.includes('$') ? undefined : expanded;
}

/** With the values of the variables that are known; any other reference stays. */
export function expandKnown(text: string, variables: Map<string, string>, depth = 0): string {
  const expanded = text.replace(REFERENCE, (written, ...names) => variables.get(nameIn(names)) ?? written);
  return expanded === text || depth === MAX_DEPTH ? expanded : expandKnown(expanded, variables, depth + 1);
}

function nameIn([round, curly, bare]: (string | undefined)[]): string {
  return round ?? curly ?? bare ?? '';
}
