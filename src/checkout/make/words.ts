/**
 * Where the command that continues at `from` ends: at the end of its line, or at an operator between two commands such as `;` or `&&`, but
 * not inside quotes or inside what make or a shell evaluates. A closing parenthesis ends a subshell: `(cd cmd && go build .)`.
 */
export function endOfCommand(text: string, from: number): number {
  let at = from;
  while (at < text.length && !/[\n;&|)]/.test(text[at]!))
    at = text[at] === '(' ? pastGroup(text, at) : past(text, at);
  return Math.min(at, text.length);
}

/** The words of a command. Quotes, and what make or a shell evaluates, can contain spaces. */
export function wordsOf(text: string): string[] {
  return splitOutside(text, /\s/).filter((word) => word !== '');
}

/** Removes quotes that enclose the whole word. */
export function withoutQuotes(word: string): string {
  return word.replace(/^(["'])(.*)\1$/, '$2');
}

/** Splits a text at each separator, except in quotes and in what make or a shell evaluates. */
export function splitOutside(text: string, separator: RegExp): string[] {
  const parts = [''];
  for (let at = 0; at < text.length; ) {
    const end = Math.min(past(text, at), text.length);
    if (separator.test(text[at]!)) parts.push('');
    else parts.push(parts.pop() + text.slice(at, end));
    at = end;
  }
  return parts;
}

/** The end of the character, the quotes or the reference at this place. */
function past(text: string, at: number): number {
  const { end, next } = opened(text, at);
  if (end === undefined) return next;
  // A quote without its end counts as a character: it can be the end of `sh -c "…"`. An unclosed `$(` takes the rest, since a part of it
  // would mean something else.
  return closing(text, next, end) ?? (text[at] === '"' ? next : text.length);
}

/** The end of the group at this place. Without a closing parenthesis, the group takes the rest of the text. */
function pastGroup(text: string, at: number): number {
  return closing(text, at + 1, ')') ?? text.length;
}

/**
 * What begins at `at`. `end` is the character that closes it, if any. Reading continues at `next`: after the opening characters, or after
 * all of it if nothing inside is special.
 */
function opened(text: string, at: number): { end?: string; next: number } {
  const first = text[at]!;
  if (first === '\\') return { next: at + 2 };
  if (first === '"') return { end: '"', next: at + 1 };
  if (first === "'" || first === '`') return { next: text.indexOf(first, at + 1) + 1 || at + 1 };
  let next = at + 1;
  // Make passes `$$` to the shell as `$`.
  while (first === '$' && text[next] === '$') next++;
  if (first === '$' && text[next] === '(') return { end: ')', next: next + 1 };
  return first === '$' && text[next] === '{' ? { end: '}', next: next + 1 } : { next };
}

/** Where this group ends; groups can be nested to any depth. */
function closing(text: string, from: number, end: string): number | undefined {
  const ends = [end];
  for (let at = from; at < text.length; ) {
    const within = ends.at(-1);
    const begun = isPlainIn(text[at]!, within) ? { next: at + 1 } : opened(text, at);
    if (text[at] === within) ends.pop();
    else if (begun.end !== undefined) ends.push(begun.end);
    else if (text[at] === '(' && within === ')') ends.push(')');
    if (ends.length === 0) return at + 1;
    at = begun.next;
  }
  return undefined;
}

/** Whether the character cannot open anything here: an apostrophe or the closing quote within double quotes. */
function isPlainIn(character: string, within: string | undefined): boolean {
  return within === '"' && (character === "'" || character === '"');
}
