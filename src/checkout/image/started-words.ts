import { basename } from 'node:path';

/** A program that only starts another one, which its words name after its own options. */
interface Starter {
  /** Matches its options that have a value in the next word. */
  valued?: RegExp;
  /** How many words of its own come before the program. */
  own?: number;
  /** Whether a program can also have a subcommand of this name. */
  isAmbiguous?: true;
}

const TINI: Starter = { valued: /^-[pe]$/ };
const AS_USER: Starter = { own: 1 };
const STARTERS: Readonly<Record<string, Starter>> = {
  tini: TINI,
  'tini-static': TINI,
  'docker-init': TINI,
  'dumb-init': { valued: /^(?:-r|--rewrite)$/ },
  catatonit: {},
  'su-exec': AS_USER,
  gosu: AS_USER,
  env: { valued: /^(?:-[uC]|--unset|--chdir)$/, isAmbiguous: true },
  exec: { valued: /^-a$/, isAmbiguous: true },
};
const SHELL = /^(?:sh|bash|ash|dash)$/;

/**
 * The words of the program that these words start. Left out are programs that only start another one, and a shell if its script is one
 * command of plain words; in these, `$(A)` stands for each variable.
 */
export function startedWords(words: string[]): string[] {
  const own = afterOptions(words);
  const [first = '', ...rest] = own;
  const starter = starterIn(first);
  if (starter) return startedWords(afterOptions(rest, starter.valued).slice(starter.own ?? 0));
  const command = commandIn(scriptIn(own) ?? '');
  return command.length > 0 ? startedWords(command) : own;
}

/** The file name of the program that these words start; also that of a script's last `exec`. */
export function programName(words: string[]): string | undefined {
  const own = startedWords(words);
  const [first = '', ...rest] = own;
  if (!isShell(first)) return basename(first) || undefined;
  const script = scriptIn(own);
  return programName(script === undefined ? rest : lastCommand(script));
}

/** Whether this is certainly a program, although nothing shows that these words begin with one. */
export function isStarter(word: string): boolean {
  const starter = starterIn(word);
  return starter !== undefined && !starter.isAmbiguous;
}

/** Whether this program is a shell, whose script only the shell knows. */
export function isShell(program: string): boolean {
  return SHELL.test(basename(program));
}

/** Whether a shell takes this word of a script literally. */
export function isPlainWord(word: string): boolean {
  return !SPECIAL.test(word) && !/["']/.test(word);
}

function starterIn(word: string): Starter | undefined {
  const name = basename(word);
  return Object.hasOwn(STARTERS, name) ? STARTERS[name] : undefined;
}

/** The words after the options, and after the variables that `env` and shells set. */
function afterOptions(words: string[], valued?: RegExp): string[] {
  const [word = '', ...rest] = words;
  if (word === '--') return rest;
  if (!/^-|^\w+=/.test(word)) return words;
  return afterOptions(valued?.test(word) ? rest.slice(1) : rest, valued);
}

/** The script in the words of a shell: `sh -c SCRIPT`, `bash -euo pipefail -c SCRIPT`. */
function scriptIn([shell = '', ...rest]: string[]): string | undefined {
  return isShell(shell) ? scriptAfter(rest) : undefined;
}

function scriptAfter([option = '', ...rest]: string[]): string | undefined {
  if (/^-\w*c$/.test(option)) return rest[0];
  return /^[-+]\w/.test(option) ? scriptAfter(option.endsWith('o') ? rest.slice(1) : rest) : undefined;
}

/** The words of a script that is one command of plain words; none for any other script. */
function commandIn(written: string): string[] {
  // Charts write one argument per line.
  const script = written.replaceAll(/\\\n\s*/g, ' ').trim();
  const words = isPlain(script) ? (script.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []) : [];
  return words.map((word) =>
    word
      .replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2')
      .replaceAll(REFERENCE, (_, a, b, c) => `$(${a ?? b ?? c})`),
  );
}

/** Kubernetes expands `$(A)`; the shell expands the other forms. */
const REFERENCE = /\$\((\w+)\)|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)/g;
const SPECIAL = /[;&|<>()`$\\*?!#~[\]{}\n]/;

/** Whether a shell takes all of the script literally except for variables. In quotes, fewer characters are special. */
function isPlain(script: string): boolean {
  const parts = script.match(/"[^"`\\]*"|'[^'$]*'|[^"']+/g) ?? [];
  const special = (part: string): RegExp => (part.startsWith('"') ? /\$/ : SPECIAL);
  return (
    parts.join('') === script &&
    parts.every((part) => part.startsWith("'") || !special(part).test(part.replaceAll(REFERENCE, '')))
  );
}

/** The words of the command that a script starts with its last `exec`; none for any other script of several commands. */
function lastCommand(script: string): string[] {
  const command = script.split(/\bexec\s/).at(-1)!;
  const isOne = command !== script || !/[;&|\n]/.test(script.trim());
  return isOne ? command.replaceAll(/["']/g, '').split(/\s+/).filter(Boolean) : [];
}
