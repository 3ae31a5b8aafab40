import { basename } from 'node:path';
import { isShell, startedWords } from '../image/started-words.ts';

/** How a container starts a Python program: the program on the PATH, such as `kopf` or `python`, and its words. */
export interface PythonCommand {
  program: string;
  words: string[];
}

/** Tools that run a command in the project's environment: `uv run kopf run main.py`. */
const RUNNERS = new Set(['uv', 'poetry', 'pipenv', 'pdm', 'hatch', 'rye']);
const INTERPRETER = /^(?:python|pypy)[\d.]*$/;

/** Undefined if these words start no Python program, or do it in a way that only a shell knows. */
export function pythonCommand(words: string[]): PythonCommand | undefined {
  const [first = '', ...rest] = startedWords(words);
  const name = basename(first);
  if (RUNNERS.has(name)) return rest[0] === 'run' ? pythonCommand(rest.slice(1)) : undefined;
  if (name === '' || isShell(name)) return undefined;
  if (name.endsWith('.py')) return { program: 'python', words: [first, ...rest] };
  if (!INTERPRETER.test(name)) return { program: name, words: rest };
  const own = rest.findIndex((word) => !PLAIN_FLAG.test(word));
  const isKopf = rest[own] === '-m' && rest[own + 1] === 'kopf';
  return isKopf ? { program: 'kopf', words: rest.slice(own + 2) } : { program: 'python', words: rest };
}

/** Flags of the interpreter that neither name code nor take a value. */
const PLAIN_FLAG = /^-[uBbdEIOPqsv]+$/;
/** Options of `kopf run` with a value in the next word that is no code. */
const KOPF_VALUES = new Set([
  '-n',
  '--namespace',
  '-P',
  '--peering',
  '-p',
  '--priority',
  '-L',
  '--liveness',
  '--log-format',
]);

/** Any other option of `kopf run`; a variable in its name could make it `--module`. */
const OTHER_OPTION = /^(?:--[\w-]+(?:=.*)?|-[A-Zvqd]+)$/s;

/** What the checkout contains. */
export interface OwnCode {
  hasFile(word: string): boolean;
  hasModule(name: string): boolean;
  /** The programs that its project declares. */
  scripts: ReadonlySet<string>;
}

/**
 * The first word for which a command could run other code than the checkout's; undefined if there is none. Whoever edits the Deployment
 * chooses its words, and Python runs what they name: `python -c CODE`, `kopf run /elsewhere.py`. So the program is Python, kopf or one that
 * the project declares, and what is run is a file or a module of the checkout. What follows is for the checkout's own program.
 */
export function foreignWord({ program, words }: PythonCommand, own: OwnCode): string | undefined {
  if (program === 'kopf') return foreignToKopf(words, own);
  if (program !== 'python') return own.scripts.has(program) ? undefined : program;
  const [first = '', module = ''] = words.slice(words.findIndex((word) => !PLAIN_FLAG.test(word)));
  if (first === '-m') return own.hasModule(module) ? undefined : `-m ${module}`;
  return own.hasFile(first) ? undefined : first;
}

function foreignToKopf([command = '', ...words]: string[], own: OwnCode): string | undefined {
  if (command !== 'run') return command;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    const [, inline] = /^--module=(.*)$/s.exec(word) ?? [];
    if (word === '-m' || word === '--module' || inline !== undefined) {
      const module = inline ?? words[++at] ?? '';
      if (!own.hasModule(module)) return `${word} ${module}`;
    } else if (KOPF_VALUES.has(word)) at++;
    else if (!OTHER_OPTION.test(word) && !own.hasFile(word)) return word;
  }
  return undefined;
}

/** The module that `python -m` or `kopf run -m` names. */
export function moduleIn(words: string[]): string | undefined {
  const at = words.findIndex((word) => word === '-m' || word === '--module');
  return at < 0 ? undefined : words[at + 1];
}
