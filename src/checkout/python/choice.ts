import { basename, isAbsolute, join, relative } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { Checkout } from '../files.ts';
import type { ProgramHints } from '../language.ts';
import type { PythonCommand } from './command.ts';

export interface ChosenFile {
  /** Relative to the root. */
  name: string;
  command: PythonCommand;
  source: string;
  rivals: string[];
}

/** A file that kopf runs, or that runs itself. */
interface Candidate {
  name: string;
  /** Whether it defines handlers, so that `kopf run` can start it. */
  hasHandlers: boolean;
  /** Whether it starts its operator by itself: `python main.py`. */
  runsItself: boolean;
}

const HANDLERS = /^\s*@kopf\.(?:on\.)?\w+/m;
const RUNS_ITSELF = /^if\s+__name__\s*==\s*(["'])__main__\1/m;
const OPERATOR = /\b(?:kopf|kubernetes|kubernetes_asyncio|pykube|kr8s|lightkube)\b/;
/** What the file of an operator is called, the most usual first. */
const USUAL = ['main.py', 'operator.py', 'handlers.py', 'app.py', '__main__.py', 'run.py'];
const SHOWN = 6;

/**
 * The file to run where neither container nor image tells: the one that the user named, or the only one that can be an operator, or else
 * the only one with a usual name. Throws 'controller.no-main' if that is not certain.
 */
export function chooseFile(checkout: Checkout, { named }: ProgramHints): ChosenFile {
  const { root } = checkout;
  const all = candidatesIn(checkout);
  const names = all.map(({ name }) => name);
  if (named !== undefined) {
    const wanted = relative(root, isAbsolute(named.package) ? named.package : join(root, named.package));
    const found = all.find(({ name }) => name === wanted);
    if (found === undefined) throw notOne(wanted, named.source, names);
    return chosen(found, named.source, []);
  }
  const [only, ...others] = all;
  if (only === undefined) throw none(root);
  if (others.length === 0) return chosen(only, 'the only file of an operator', []);
  const usual = USUAL.map((file) => all.filter(({ name }) => basename(name) === file)).find(
    ({ length }) => length > 0,
  );
  if (usual?.length !== 1) throw several(names);
  const rivals = names.filter((name) => name !== usual[0]!.name).slice(0, SHOWN);
  return chosen(usual[0]!, `named like the file of an operator, of ${all.length} that could be it`, rivals);
}

function candidatesIn(checkout: Checkout): Candidate[] {
  const found = checkout
    .files((name) => name.endsWith('.py'))
    .map((path): Candidate => {
      const text = checkout.text(path);
      const runsItself = RUNS_ITSELF.test(text) && OPERATOR.test(text);
      return { name: relative(checkout.root, path), hasHandlers: HANDLERS.test(text), runsItself };
    })
    .filter(({ hasHandlers, runsItself }) => hasHandlers || runsItself);
  // A file that runs itself imports those with the handlers.
  const own = found.filter(({ runsItself }) => runsItself);
  return own.length > 0 ? own : found;
}

function chosen({ name, runsItself }: Candidate, source: string, rivals: string[]): ChosenFile {
  const command = runsItself
    ? { program: 'python', words: [name] }
    : { program: 'kopf', words: ['run', name] };
  return { name, command, source, rivals };
}

const command = (name: string): string => `devloop up --package ${shellWord(name)}`;

function notOne(wanted: string, source: string, names: string[]): DevloopError {
  const list = names.slice(0, SHOWN).join(', ') || 'none';
  return new DevloopError(
    'controller.no-main',
    `${wanted} (${source}) is not a Python file of an operator. The files of operators here: ${list}.`,
    names.length > 0 ? { hint: names.slice(0, SHOWN).map(command).join('\n') } : {},
  );
}

function several(names: string[]): DevloopError {
  return new DevloopError(
    'controller.no-main',
    `Several Python files could be the operator: ${names.join(', ')}.`,
    {
      hint: ['Choose one:', ...names.slice(0, SHOWN).map(command)].join('\n'),
    },
  );
}

function none(root: string): DevloopError {
  return new DevloopError(
    'controller.no-main',
    `No Python file in ${root} defines handlers of kopf, or runs an operator by itself.`,
    { hint: 'devloop up -- <command> runs an operator in any way.' },
  );
}
