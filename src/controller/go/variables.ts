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
export function expandVariables(text: string, variables: Map<string, string>, depth = 0): string | undefined {
  const expanded = text.replace(REFERENCE, (_, round, curly, bare) => {
    return variables.get(round ?? curly ?? bare) ?? '';
  });
  if (!expanded.includes('$')) return expanded;
  if (expanded === text || depth === MAX_DEPTH) return undefined;
  return expandVariables(expanded, variables, depth + 1);
}
