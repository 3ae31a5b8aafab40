export type Words = { words: string[] } | { problem: string };

const TOKEN =
  /(?<space>\s+)|(?<single>'[^']*')|(?<double>"(?:[^"\\]|\\[\s\S])*")|(?<escaped>\\[\s\S])|(?<shell>&&|\|\||\$[({\w]|[|;<>&`])|(?<open>['"\\])|(?<plain>[^\s'"\\|;<>&`$]+|\$)/gy;
const EXPANDED_IN_QUOTES = /(?<!\\)(?:\\\\)*(\$[({\w]|`)/;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;

/**
 * Splits a command into words as a shell would, for plain words and quotes. No shell runs the command, so anything that only a shell can do
 * is reported: otherwise it would become an argument that looks right but does something else.
 */
export function splitWords(text: string): Words {
  const words: string[] = [];
  let word: string | undefined;
  for (const { groups = {} } of text.matchAll(TOKEN)) {
    const problem = problemOf(groups);
    if (problem !== undefined) return { problem };
    if (groups.space === undefined) {
      word = (word ?? '') + plainText(groups);
    } else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  return check(words);
}

type Groups = Record<string, string | undefined>;

function problemOf({ shell, double = '', open }: Groups): string | undefined {
  const operator = shell ?? EXPANDED_IN_QUOTES.exec(double)?.[1];
  if (operator !== undefined) {
    return `\`${operator}\` needs a shell, and devloop runs commands without one: write the words as a list, or call a script`;
  }
  if (open === '\\') return 'the command ends with a backslash';
  return open === undefined ? undefined : `the quote ${open} is not closed`;
}

function plainText({ single, double, escaped, plain = '' }: Groups): string {
  if (single !== undefined) return single.slice(1, -1);
  if (double !== undefined) return double.slice(1, -1).replaceAll(/\\(["\\$`])/g, '$1');
  return escaped === undefined ? plain : escaped.slice(1);
}

function check(words: string[]): Words {
  const [first] = words;
  if (first === undefined) return { problem: 'the command is empty' };
  if (!ASSIGNMENT.test(first)) return { words };
  return { problem: `\`${first}\` needs a shell: begin with \`env\`, as in \`env ${first} …\`` };
}
