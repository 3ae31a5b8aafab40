import type { Option } from 'commander';
import { AGAIN } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import type { DevloopEvent } from '../report/events.ts';

/** A command as it was typed: the commands that devloop suggests repeat its flags. */
export interface Typed {
  /** `devloop` or `kubectl devloop`. */
  name: string;
  /** `up` */
  command: string;
  flags: TypedFlag[];
  /** It has words that are no flags: what `reviews` does, and to what. */
  hasWords: boolean;
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

/** The flags among these words, by their long names, and whether there are others. */
export function typedFlags(words: string[], options: readonly Option[]): Pick<Typed, 'flags' | 'hasWords'> {
  const flags: TypedFlag[] = [];
  let hasWords = false;
  for (let at = 0; at < words.length; at++) {
    const [, name, inline] = /^(--[^=]+|-\w)=?(.*)$/s.exec(words[at]!) ?? [];
    const option = options.find(({ long, short }) => name !== undefined && (name === long || name === short));
    hasWords ||= name === undefined;
    if (option?.long == null || OUTPUT.includes(option.long)) continue;
    const isNext = option.required || (option.optional && /^[^-]/.test(words[at + 1] ?? ''));
    const value = inline || (isNext ? (words[++at] ?? '') : undefined);
    flags.push({ long: option.long, ...(value === undefined ? {} : { value }) });
  }
  return { flags, hasWords };
}

/**
 * The event with the commands that it suggests as the user would type them: for the same cluster and namespace, and with all flags
 * where it is the same command once more. Those are any commands of devloop or kubectl in a hint, and those in backticks in a message.
 * A line of a hint that repeats just what was typed is left out.
 */
export function withNextCommands(event: DevloopEvent, typed: Typed, cluster: ChosenCluster): DevloopEvent {
  if (!('message' in event || 'hint' in event)) return event;
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

/** Quoted for a shell. The apostrophe of a word is no quote. */
const QUOTED = String.raw`(?<!\w)(?:\$'(?:\\.|[^'\\])*'|'[^']*'(?:\\''[^']*')*|"[^"]*")`;
const FLAG = String.raw`--?[a-z][-\w]*(?:[ =](?:${QUOTED}|[^-\s]\S*))?`;

/** A command of devloop that ends its line, behind words such as "Or:" or not. */
const COMMAND = new RegExp(
  `^(?<before>.*?)(?:${AGAIN}|(?<![-\\w])devloop (?<name>\\w+))(?<flags>(?: ${FLAG})*)(?<own> -- .+)?$`,
);

/** One line, to its end or to a comment. Undefined where it is what was typed. */
function completed(line: string, typed: Typed, cluster: ChosenCluster): string | undefined {
  const [text = ''] = masked(line)
    .split(/(?=\s+# )/, 1)
    .map(({ length }) => line.slice(0, length));
  const comment = line.slice(text.length);
  const found = COMMAND.exec(text)?.groups;
  // Of `reviews`, one action has other flags than the next.
  const isOther = found?.name !== undefined && (found.name !== typed.command || typed.hasWords);
  if (found === undefined || isOther) return withPlaces(text, typed, cluster) + comment;
  const { before = '', flags = '', own } = found;
  const more = typed.flags.filter(isMissingIn(flags));
  if (own === undefined && before === '' && isTyped(flagsIn(flags), typed)) return undefined;
  const program = typed.own.length === 0 ? '' : ` -- ${typed.own.map(shellWord).join(' ')}`;
  const again = [typed.name, typed.command, ...more.map(shown)].join(' ');
  return `${withPlaces(before, typed, cluster)}${again}${flags}${own ?? program}${comment}`;
}

/** The flags that every command understands in the same way, and that say where to look. */
const PLACE = ['--kubeconfig', '--context', '--namespace'];

/**
 * The commands of a line, which may be in a sentence: from a name to the next one, or to what ends it for a shell. A sentence that only speaks of
 * devloop or kubectl says so before ("while devloop up runs") or after the name ("kubectl is missing").
 */
const COMMANDS = new RegExp(
  [
    String.raw`(?<![-\w./]|\b(?:as|by|end|of|than|that|what|when|where|whether|while) )`,
    String.raw`(?:devloop (?<command>up|down|status|doctor|certs)\b`,
    // `kubectl config` is about all contexts, and a plug-in takes flags only behind its name.
    String.raw`|kubectl(?= )(?! (?:devloop|is|was|has|does|did|can|cannot|reads|writes)\b)(?<group> config| cert-manager \w+)?)`,
    String.raw`(?=(?<rest>.*?)(?:$|[;|&)\x60]|(?<![-\w])(?:kubectl|devloop) ))`,
  ].join(''),
  'g',
);

/** Each command of the text for the cluster and the namespace that were chosen. */
function withPlaces(text: string, typed: Typed, { kubeconfig, context }: ChosenCluster): string {
  const place = typed.flags.filter(({ long }) => PLACE.includes(long));
  const file = kubeconfig === undefined ? [] : [{ long: '--kubeconfig', value: kubeconfig }];
  const chosen = context === undefined ? file : [...file, { long: '--context', value: context }];
  let done = '';
  let at = 0;
  for (const { 0: words, index, groups } of masked(text).matchAll(COMMANDS)) {
    const { command, group, rest = '' } = groups!;
    const own = command === undefined ? (group === ' config' ? file : chosen) : place;
    const name = command === undefined ? words : `${typed.name} ${command}`;
    done += text.slice(at, index) + [name, ...own.filter(isMissingIn(rest)).map(shown)].join(' ');
    at = index + words.length;
  }
  return done + text.slice(at);
}

/** What is quoted is not looked into: of the same length, without it. */
function masked(text: string): string {
  return text.replaceAll(new RegExp(QUOTED, 'g'), (found) => '_'.repeat(found.length));
}

function isMissingIn(text: string): (flag: TypedFlag) => boolean {
  const known = flagsIn(text).map(({ long }) => long);
  return ({ long }) => !known.includes(long);
}

function flagsIn(text: string): TypedFlag[] {
  return [...text.matchAll(new RegExp(`(?<= )${FLAG}`, 'g'))].map(([flag]) => {
    const [, name = '', value] = /^([^ =]+)[ =]?(.+)?$/.exec(flag)!;
    const long = name === '-n' ? '--namespace' : name;
    return value === undefined ? { long } : { long, value };
  });
}

/** Whether just these values of the flags were typed: of a flag that can be repeated, one value fewer is another command. */
function isTyped(flags: TypedFlag[], typed: Typed): boolean {
  const names = flags.map(({ long }) => long);
  const same = typed.flags.filter(({ long }) => names.includes(long));
  return (
    flags.every((one) => same.some(isEqual(one))) &&
    same.every((flag) => flags.some((one) => isEqual(one)(flag)))
  );
}

/** Whether a flag that was typed is this one of a line, as `shown` shows it. */
function isEqual(one: TypedFlag): (other: TypedFlag) => boolean {
  return ({ long, value }) =>
    long === one.long && (value === one.value || (value !== undefined && shellWord(value) === one.value));
}

function shown({ long, value }: TypedFlag): string {
  const flag = long === '--namespace' ? '-n' : long;
  return value === undefined ? flag : `${flag} ${shellWord(value)}`;
}
