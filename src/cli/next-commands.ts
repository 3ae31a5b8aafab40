import type { Option } from 'commander';
import { AGAIN } from '../errors.ts';
import { shellQuoted } from '../phrases.ts';
import type { DevloopEvent } from '../report/events.ts';

/** A command as it was typed: the commands that devloop suggests repeat its flags. */
export interface Typed {
  /** `devloop` or `kubectl devloop`. */
  name: string;
  /** `up` */
  command: string;
  flags: TypedFlag[];
  /** What follows `--`. */
  own: string[];
}

interface TypedFlag {
  long: string;
  value?: string;
}

/** Which cluster the command uses, where that is not simply the current context. */
export interface ChosenCluster {
  context?: string | undefined;
  kubeconfig?: string | undefined;
}

/** They choose how the answer is printed, not what the command does. */
const OUTPUT = ['--json', '--quiet', '--verbose'];

/** The flags among these words, by their long names. */
export function typedFlags(words: string[], options: readonly Option[]): TypedFlag[] {
  const flags: TypedFlag[] = [];
  for (let at = 0; at < words.length; at++) {
    const [, name, inline] = /^(--[^=]+|-\w)=?(.*)$/s.exec(words[at]!) ?? [];
    const option = options.find(({ long, short }) => name !== undefined && (name === long || name === short));
    if (option?.long == null || OUTPUT.includes(option.long)) continue;
    if (!option.required) flags.push({ long: option.long });
    else flags.push({ long: option.long, value: inline || (words[++at] ?? '') });
  }
  return flags;
}

/**
 * The event with the commands that it suggests as the user would type them: for the same cluster and namespace, and with all flags
 * where it is the same command once more. Those are any commands of devloop or kubectl in a hint, and those in backticks in a message.
 * A line of a hint that repeats just what was typed is left out.
 */
export function withNextCommands(event: DevloopEvent, typed: Typed, cluster: ChosenCluster): DevloopEvent {
  // Its flags are what is wrong.
  if (event.type === 'error' && event.code === 'usage.invalid') return event;
  const complete = (line: string): string | undefined => completed(line, typed, cluster);
  const next = { ...event };
  if ('message' in next)
    next.message = next.message.replaceAll(
      /(?<=`)(?:devloop|kubectl) [^`\n]+(?=`)/g,
      (found) => complete(found) ?? found,
    );
  if (!('hint' in next) || next.hint === undefined) return next;
  const { hint, ...rest } = next;
  const lines = hint.split('\n').flatMap((line) => complete(line) ?? []);
  return lines.length === 0 ? rest : { ...rest, hint: lines.join('\n') };
}

/** A command of devloop that ends its line, behind words such as "Or:" or not. */
const COMMAND = new RegExp(
  `^(?<before>.*?)(?:${AGAIN}|(?<![-\\w])devloop (?<name>\\w+))(?<flags>(?: --?[a-z][-\\w]*(?:[ =][^-\\s]\\S*)?)*)(?<own> -- .+)?$`,
);

/** One line has one command, to its end or to a comment. Undefined where it is what was typed. */
function completed(line: string, typed: Typed, cluster: ChosenCluster): string | undefined {
  const comment = /\s+# .*$/.exec(line)?.[0] ?? '';
  const text = line.slice(0, line.length - comment.length);
  const found = COMMAND.exec(text)?.groups;
  if (found === undefined || (found.name ?? typed.command) !== typed.command)
    return withPlace(text, typed, cluster) + comment;
  const { before = '', flags = '', own } = found;
  const more = typed.flags.filter(isMissingIn(flags));
  const isTyped = own === undefined && flagsIn(flags).every((one) => typed.flags.some(isEqual(one)));
  if (isTyped && before === '') return undefined;
  const program = typed.own.length === 0 ? '' : ` -- ${typed.own.map(quoted).join(' ')}`;
  return `${before}${[typed.name, typed.command, ...more.map(shown)].join(' ')}${flags}${own ?? program}${comment}`;
}

/** The flags that every command understands in the same way, and that say where to look. */
const PLACE = ['--kubeconfig', '--context', '--namespace'];

/** Another command, possibly in the middle of a sentence. */
function withPlace(text: string, typed: Typed, { kubeconfig, context }: ChosenCluster): string {
  const place = typed.flags.filter(({ long }) => PLACE.includes(long)).filter(isMissingIn(text));
  const file = kubeconfig === undefined ? [] : [{ long: '--kubeconfig', value: kubeconfig }];
  const chosen = context === undefined ? file : [...file, { long: '--context', value: context }];
  const add = (words: string, flags: TypedFlag[]): string => [words, ...flags.map(shown)].join(' ');
  return text
    .replace(/(?<![-\w])kubectl(?= (?!devloop ))(?: config(?= ))?/, (words) =>
      // `kubectl config` is about all contexts.
      add(words, (words.endsWith('config') ? file : chosen).filter(isMissingIn(text))),
    )
    .replace(/(?<![-\w])devloop (up|down|status|doctor|certs)\b/, (_, command) =>
      add(`${typed.name} ${command}`, place),
    );
}

function isMissingIn(text: string): (flag: TypedFlag) => boolean {
  const known = flagsIn(text).map(({ long }) => long);
  return ({ long }) => !known.includes(long);
}

function flagsIn(text: string): TypedFlag[] {
  return [...text.matchAll(/(?<= )(--?[a-z][-\w]*)(?:[ =]([^-\s]\S*))?/g)].map(([, name = '', value]) => {
    const long = name === '-n' ? '--namespace' : name;
    return value === undefined ? { long } : { long, value };
  });
}

function isEqual(one: TypedFlag): (other: TypedFlag) => boolean {
  return ({ long, value }) => long === one.long && value === one.value;
}

function shown({ long, value }: TypedFlag): string {
  const flag = long === '--namespace' ? '-n' : long;
  return value === undefined ? flag : `${flag} ${quoted(value)}`;
}

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuoted(word);
}
