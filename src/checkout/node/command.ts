import { basename } from 'node:path';
import { startedWords } from '../image/started-words.ts';

/** What words start: a file with Node, a script of package.json, or a program that a package installs, such as tsx. */
export type NodeCommand =
  | { is: 'file'; options: string[]; file: string; args: string[] }
  | { is: 'script'; script: string; args: string[] }
  | { is: 'program'; program: string; args: string[] };

const NODE = /^node(?:js)?$/;
/** Node's official images start each command through their entry script. */
const STARTERS = /^(?:docker-entrypoint\.sh|corepack|npx|cross-env)$/;
const MANAGERS = /^(?:npm|yarn|pnpm|bun)$/;
/** Options of Node with a value that can be a word of its own. */
const VALUED = /^(?:-r|--require|--import|--loader|--experimental-loader|-C|--conditions|--env-file)$/;
const SOURCE = /\.[cm]?[jt]s$/;

/** Undefined if these words start no program that Node runs, or do it in a way that only a shell knows. */
export function nodeCommand(words: string[]): NodeCommand | undefined {
  const [first = '', ...rest] = startedWords(words);
  const name = basename(first);
  if (STARTERS.test(name)) return nodeCommand(rest);
  if (NODE.test(name)) return withNode(rest);
  if (MANAGERS.test(name)) return byManager(rest);
  if (SOURCE.test(first)) return { is: 'file', options: [], file: first, args: rest };
  return first === '' ? undefined : { is: 'program', program: name, args: rest };
}

/** Whether a program of this name is Node, or starts it. */
export function isNode(program: string): boolean {
  return NODE.test(program) || STARTERS.test(program) || MANAGERS.test(program);
}

function withNode(words: string[]): NodeCommand | undefined {
  let at = 0;
  while (words[at]?.startsWith('-')) at += VALUED.test(words[at]!) ? 2 : 1;
  const file = words[at];
  if (file === undefined) return undefined;
  return { is: 'file', options: words.slice(0, at), file, args: words.slice(at + 1) };
}

/** `npm start`, `npm run serve -- --port=1`, `yarn serve`, `pnpm exec tsx main.ts` */
function byManager(words: string[]): NodeCommand | undefined {
  const [verb = '', ...rest] = words.filter((word, index) => !isOption(word, words.slice(0, index)));
  if (/^(?:exec|dlx|node)$/.test(verb)) return nodeCommand(verb === 'node' ? ['node', ...rest] : rest);
  const [script = '', ...args] = /^run(?:-script)?$/.test(verb) ? rest : [verb, ...rest];
  if (script === '') return undefined;
  return { is: 'script', script, args: args[0] === '--' ? args.slice(1) : args };
}

/** The options of the manager itself come before the script, as in `npm --silent start`. */
function isOption(word: string, before: string[]): boolean {
  const isFirst = before.every((one) => one.startsWith('-') || /^run(?:-script)?$/.test(one));
  return isFirst && word.startsWith('-') && word !== '--';
}
