import type { Command, Option } from 'commander';
import { PLAIN_ROUTES } from '../config/route-choice.ts';
import type { Live } from '../session/live-values.ts';
import { CALLS_ACTIONS } from './calls.ts';
import { FAULT_ACTIONS } from './fault.ts';
import { placeOfCommand } from './program.ts';
import { REVIEWS_ACTIONS } from './reviews.ts';

/** The word at the cursor, and what can be there. */
export interface Cursor {
  /** What is typed of it. */
  typed: string;
  /** What is before it in the same word, such as `--context=`. */
  before: string;
  /** The values of the options in the earlier words, by their long names. */
  given: Record<string, string>;
  /** Known words, with what each is about. */
  words: [word: string, about?: string][];
  /** What has to be looked up. */
  live?: Live | undefined;
  /** Whether it is the name of a file, which shells complete themselves. */
  isFile?: boolean;
}

/** What the options take whose values have to be looked up. */
export const OPTIONS: Record<string, Live> = {
  context: 'context',
  namespace: 'namespace',
  service: 'service',
  deployment: 'workload',
  'also-pause': 'deployment',
  session: 'session',
  set: 'set',
  route: 'sshHost',
};

/** What the arguments are, by the command and its first word. The last one stands for all that follow. */
export const ARGUMENTS: Record<string, readonly Live[]> = {
  'reviews show': ['review'],
  'reviews export': ['review'],
  'reviews replay': ['review'],
  'reviews save': ['set', 'review'],
  'reviews verify': ['set'],
  calls: ['call'],
  'calls show': ['call'],
  'calls export': ['call'],
  reconciles: ['reconcile'],
  'reconciles show': ['reconcile'],
  'reconciles export': ['reconcile'],
  'fault clear': ['fault'],
};

/** The first words of commands for which commander has no list of choices, because other kinds of arguments follow. */
const FIRST_WORDS: Record<string, readonly string[]> = {
  reviews: REVIEWS_ACTIONS,
  calls: CALLS_ACTIONS,
  reconciles: CALLS_ACTIONS,
  fault: FAULT_ACTIONS,
};

/** `words`: those after `devloop`, up to the cursor. The last one is the word at the cursor, which may be empty. */
export function cursorIn(words: string[], program: Command): Cursor {
  const earlier = words.slice(0, -1);
  const typed = words.at(-1) ?? '';
  const at = placeOfCommand(earlier, program.commands);
  const command = program.commands.find((one) => one.name() === earlier[at]);
  if (command === undefined) {
    const isPlace = at >= earlier.length || earlier[at] === 'help';
    return { typed, before: '', given: {}, words: isPlace ? topWords(program, typed) : [] };
  }
  const { option, given, args } = readWords(earlier.toSpliced(at, 1), command);
  if (option) return { typed, before: '', given, ...valuesOf(option, command) };
  const [flag = '', value] = splitFlag(typed);
  const here = value === undefined ? undefined : optionOf(flag, command);
  if (here) return { typed: value!, before: `${flag}=`, given, ...valuesOf(here, command) };
  return { typed, before: '', given, ...argumentOf(command, args, typed) };
}

/** The option whose value comes next, the values of the others, and the arguments. */
function readWords(words: string[], command: Command) {
  const given: Record<string, string> = {};
  const args: string[] = [];
  let option: Option | undefined;
  for (const word of words) {
    if (option) {
      given[option.name()] = word;
      option = undefined;
      continue;
    }
    const [flag = '', value] = splitFlag(word);
    const found = optionOf(flag, command);
    if (found && value !== undefined) given[found.name()] = value;
    else if (found?.required) option = found;
    else if (!word.startsWith('-')) args.push(word);
  }
  return { option, given, args };
}

function splitFlag(word: string): string[] {
  const [, flag = word, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
  return value === undefined ? [flag] : [flag, value];
}

function optionOf(flag: string, { options }: Command): Option | undefined {
  return options.find(({ long, short }) => flag === long || flag === short);
}

function topWords({ commands }: Command, typed: string): Cursor['words'] {
  if (typed.startsWith('-')) return [['--help'], ['--version']];
  return commands.map((command) => [command.name(), command.summary()]);
}

function valuesOf(option: Option, command: Command): Pick<Cursor, 'words' | 'live' | 'isFile'> {
  if (option.argChoices) return { words: option.argChoices.map((one) => [one]) };
  const name = option.name();
  // A command without --context is about a session, whose API server can be another one.
  const live = name === 'namespace' && !optionOf('--context', command) ? undefined : OPTIONS[name];
  if (name === 'route') return { words: [...PLAIN_ROUTES, 'ssh:'].map((one) => [one]), live };
  return { words: [], live, isFile: /<(?:file|dir|kubeconfig)>/.test(option.flags) };
}

function argumentOf(command: Command, args: string[], typed: string): Pick<Cursor, 'words' | 'live'> {
  const flags = (): Cursor['words'] =>
    command
      .createHelp()
      .visibleOptions(command)
      .map(({ long, description }) => [long ?? '', description]);
  if (typed.startsWith('-')) return { words: flags() };
  const name = command.name();
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const first = args.length === 0 ? [...choices, ...(FIRST_WORDS[name] ?? [])] : [];
  const live = liveArgument(name, args);
  if (first.length === 0 && live === undefined) return { words: typed === '' ? flags() : [] };
  return { words: first.map((one) => [one]), live };
}

function liveArgument(name: string, args: string[]): Live | undefined {
  const [action = ''] = args;
  const ofAction = ARGUMENTS[`${name} ${action}`];
  if (ofAction) return ofAction[args.length - 1] ?? ofAction.at(-1);
  return ARGUMENTS[name]?.at(-1);
}
