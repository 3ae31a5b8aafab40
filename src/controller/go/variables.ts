/** `NAME ?= value` and the other assignments of a Makefile; `ARG NAME=value` and `ENV NAME=value` in a Dockerfile. */
const ASSIGNMENT = /^(?:export\s+|ARG\s+|ENV\s+)?(\w+)[ \t]*(\?|\+|:{0,3})=[ \t]*([^\n]*)$/gm;
/** `$@` is the target of a rule, `$(@F)` its last part. */
const REFERENCE = /\$(?:\((@F|\w+)\)|\{(\w+)\}|(@|\w+))/g;
/** Variables can refer to each other in a cycle. */
const MAX_DEPTH = 8;

/** The unexpanded values of all variables, except those of single targets, which are indented. */
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

/** Expands variables as make does, unknown ones to nothing; undefined if a function or a shell would have to be evaluated. */
export function expandVariables(text: string, variables: Map<string, string>): string | undefined {
  const expanded = expandKnown(text, variables).replace(REFERENCE, (written, ...names) =>
    variables.has(nameIn(names)) ? written : '',
  );
  return expanded.includes('$') ? undefined : expanded;
}

/** Expands known variables, and leaves other references as they are. */
export function expandKnown(text: string, variables: Map<string, string>, depth = 0): string {
  const expanded = text.replace(REFERENCE, (written, ...names) => variables.get(nameIn(names)) ?? written);
  return expanded === text || depth === MAX_DEPTH ? expanded : expandKnown(expanded, variables, depth + 1);
}

function nameIn([round, curly, bare]: (string | undefined)[]): string {
  return round ?? curly ?? bare ?? '';
}
