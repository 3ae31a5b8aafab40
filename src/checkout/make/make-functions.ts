import { ARCH, OS, UNAME, UNAME_MACHINE } from '../../machine/host.ts';

/** A call of a make function that contains no other call, but possibly unknown variables. */
const CALL =
  /\$\((and|basename|dir|firstword|if|lastword|notdir|or|shell|strip) +((?:[^()$]|\$\(\w+\)|\$\{\w+\})*)\)/g;
const VARIABLE = /\$\(\w+\)|\$\{\w+\}/g;
/** The limit for nested functions. */
const MAX_DEPTH = 8;

/** Evaluates the calls of make's functions whose arguments are known. */
export function evaluated(text: string, depth = 0): string {
  const known = text.replace(CALL, (written, name, words) => call(name, words) ?? written);
  return known === text || depth === MAX_DEPTH ? known : evaluated(known, depth + 1);
}

function call(name: string, written: string): string | undefined {
  const condition = CONDITIONS[name];
  if (condition) return condition(written.split(',').map((word) => word.trim()));
  return written.includes('$') ? undefined : FUNCTIONS[name]?.(written.trim());
}

/** A variable that is set nowhere counts as empty: usually, it is there for a user to set. */
function isEmpty(word: string): boolean {
  return word.replace(VARIABLE, '') === '';
}

const CONDITIONS: Record<string, (words: string[]) => string | undefined> = {
  and: (words) => (words.some(isEmpty) ? '' : words.at(-1)),
  if: ([condition = '', then = '', ...otherwise]) => (isEmpty(condition) ? otherwise.join() : then),
  or: (words) => words.find((word) => !isEmpty(word)),
};

const FUNCTIONS: Record<string, (words: string) => string | undefined> = {
  basename: (words) => eachWord(words, (word) => word.replace(/\.[^./]*$/, '')),
  dir: (words) => eachWord(words, (word) => /^.*\//.exec(word)?.[0] ?? './'),
  firstword: (words) => words.split(/\s+/)[0],
  lastword: (words) => words.split(/\s+/).at(-1),
  notdir: (words) => eachWord(words, (word) => word.replace(/^.*\//, '')),
  shell: (command) => OUTPUTS[command.replaceAll(/\s+/g, ' ')],
  strip: (words) => eachWord(words, (word) => word),
};

function eachWord(words: string, change: (word: string) => string): string {
  return words.split(/\s+/).map(change).join(' ');
}

/** What commands print on this machine. */
const OUTPUTS: Record<string, string | undefined> = {
  'go env GOARCH': ARCH,
  'go env GOHOSTARCH': ARCH,
  'go env GOHOSTOS': OS,
  'go env GOOS': OS,
  uname: UNAME,
  'uname -m': UNAME_MACHINE,
  'uname -s': UNAME,
};
