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
  /** Whether there are words other than flags, such as the action and the ids of `reviews`. */
  hasWords: boolean;
  /** What follows `--`. */
  own: string[];
}

interface TypedFlag {
  long: string;
  value?: string;
}

/** Which cluster the command uses, if that is not simply the current context. */
export interface ChosenCluster {
  context?: string | undefined;
  kubeconfig?: string | undefined;
}

/** These flags are about a cluster, so no command with `--embedded` takes them. */
export const OF_A_CLUSTER = ['--dry-run', '--kubeconfig', '--context', '--route'] as const;

/** These flags choose how the answer is printed, not what the command does. */
const OUTPUT = ['--json', '--quiet', '--verbose', '--detached'];

/** The flags among these words, by their long names, and whether there are other words. */
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
    flags.push({ long: option.long, value });
  }
  return { flags, hasWords };
}

/**
 * Returns the event with its suggested commands as the user would type them: for the same cluster and namespace, and with all typed flags
 * if it is the same command again. Suggestions are the commands of devloop and kubectl in a hint, and those in backticks in a message. A
 * line of a hint that only repeats what was typed is left out.
 */
export function withNextCommands(event: DevloopEvent, typed: Typed, cluster: ChosenCluster): DevloopEvent {
  if (event.type === 'crashtest.round') return withRepeat(event, typed, cluster);
  if (!('message' in event || 'hint' in event)) return event;
  // The typed flags are wrong, so nothing should repeat them.
  if (event.type === 'error' && event.code === 'usage.invalid') return event;
  const complete = (line: string): string | undefined => completed(line, typed, cluster);
  const next = { ...event };
  if ('message' in next && next.message !== undefined)
    next.message = next.message.replaceAll(
      /(?<=`)(?:devloop|kubectl) [^`\n]+(?=`)/g,
      (found) => complete(found) ?? found,
    );
  const inLines = (hint: string): string =>
    hint
      .split('\n')
      .flatMap((line) => complete(line) ?? [])
      .join('\n');
  if ('values' in next) next.values = withNext(next.values, inLines);
  if (!('hint' in next) || next.hint === undefined) return next;
  const { hint, ...rest } = next;
  const completeHint = inLines(hint);
  return completeHint === '' ? rest : { ...rest, hint: completeHint };
}

function withRepeat(
  event: Extract<DevloopEvent, { type: 'crashtest.round' }>,
  typed: Typed,
  cluster: ChosenCluster,
): DevloopEvent {
  const { repeat, ...round } = event.round;
  const again = repeat && completed(repeat, typed, cluster);
  return { ...event, round: { ...round, ...(again ? { repeat: again } : {}) } };
}

/** In the values of a note or a warning, `next` is (a part of) its hint. */
function withNext(values: object, inLines: (hint: string) => string): object {
  return 'next' in values && typeof values.next === 'string'
    ? { ...values, next: inLines(values.next) }
    : values;
}

/** Text that is quoted for a shell. An apostrophe inside a word is not a quote. */
const QUOTED = String.raw`(?<!\w)(?:\$'(?:\\.|[^'\\])*'|'[^']*'(?:\\''[^']*')*|"[^"]*")`;
const FLAG = String.raw`--?[a-z][-\w]*(?:[ =](?:${QUOTED}|[^-\s]\S*))?`;

/** A command of devloop at the end of a line, which can begin with words such as "Or:". */
const COMMAND = new RegExp(
  `^(?<before>.*?)(?:${AGAIN}|(?<![-\\w])devloop (?<name>\\w+))(?<flags>(?: ${FLAG})*)(?<own> -- .+)?$`,
);

/** Completes the command in a line, and keeps the comment after it. Returns undefined if the line is exactly what was typed. */
function completed(line: string, typed: Typed, cluster: ChosenCluster): string | undefined {
  const [text = ''] = masked(line)
    .split(/(?=\s+# )/, 1)
    .map(({ length }) => line.slice(0, length));
  const comment = line.slice(text.length);
  const found = COMMAND.exec(text)?.groups;
  // Each action of `reviews` has flags of its own.
  const isOther = found?.name !== undefined && (found.name !== typed.command || typed.hasWords);
  if (found === undefined || isOther) return withPlaces(text, typed, cluster) + comment;
  const { before = '', flags = '', own } = found;
  const unfit: readonly string[] = flagsIn(flags).some(({ long }) => long === '--embedded')
    ? OF_A_CLUSTER
    : [];
  const more = typed.flags.filter(isMissingIn(flags)).filter(({ long }) => !unfit.includes(long));
  if (own === undefined && before === '' && isTyped(flagsIn(flags), typed)) return undefined;
  const program = typed.own.length === 0 ? '' : ` -- ${typed.own.map(shellWord).join(' ')}`;
  const again = [typed.name, typed.command, ...more.map(shown)].join(' ');
  return `${withPlaces(before, typed, cluster)}${again}${flags}${own ?? program}${comment}`;
}

/** The flags that choose where to look. Every command understands them in the same way. */
const PLACE = ['--kubeconfig', '--context', '--namespace'];

/**
 * The commands in a line, which can be a sentence: each goes from its name to the next name, or to whatever ends a command in a shell. If a
 * sentence only mentions devloop or kubectl, a word before the name ("while devloop up runs") or after it ("kubectl is missing") shows that
 * it is not a command.
 */
const COMMANDS = new RegExp(
  [
    String.raw`(?<![-\w./]|\b(?:as|by|end|of|than|that|what|when|where|whether|while) )`,
    String.raw`(?:devloop (?<command>up|down|status|doctor|certs)\b`,
    // `kubectl config` is about all contexts, and a plug-in takes flags only after its name.
    String.raw`|kubectl(?= )(?! (?:devloop|is|was|has|does|did|can|cannot|reads|writes)\b)(?<group> config| cert-manager \w+)?)`,
    String.raw`(?=(?<rest>.*?)(?:$|[;|&)\x60]|(?<![-\w])(?:kubectl|devloop) ))`,
  ].join(''),
  'g',
);

/** Adds the chosen cluster and namespace to each command of the text. */
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

/** Replaces quoted parts with other text of the same length, so that no command or comment is found in them. */
function masked(text: string): string {
  return text.replaceAll(new RegExp(QUOTED, 'g'), (found) => '_'.repeat(found.length));
}

/** Whether a command with these flags also takes another one. */
function isMissingIn(text: string): (flag: TypedFlag) => boolean {
  const named: string[] = flagsIn(text).map(({ long }) => long);
  const known = named.includes('--embedded') ? [...named, ...OF_A_CLUSTER] : named;
  return ({ long }) => !known.includes(long);
}

function flagsIn(text: string): TypedFlag[] {
  return [...text.matchAll(new RegExp(`(?<= )${FLAG}`, 'g'))].map(([flag]) => {
    const [, name = '', value] = /^([^ =]+)[ =]?(.+)?$/.exec(flag)!;
    const long = name === '-n' ? '--namespace' : name;
    return value === undefined ? { long } : { long, value };
  });
}

/** Whether exactly these values of the flags were typed. If a flag can be repeated, a line with fewer of its values is another command. */
function isTyped(flags: TypedFlag[], typed: Typed): boolean {
  const names = flags.map(({ long }) => long);
  const same = typed.flags.filter(({ long }) => names.includes(long));
  return (
    flags.every((one) => same.some(isEqual(one))) &&
    same.every((flag) => flags.some((one) => isEqual(one)(flag)))
  );
}

/** Returns whether a typed flag equals `one`, a flag in a line, where `shown` may have quoted the value. */
function isEqual(one: TypedFlag): (other: TypedFlag) => boolean {
  return ({ long, value }) =>
    long === one.long && (value === one.value || (value !== undefined && shellWord(value) === one.value));
}

function shown({ long, value }: TypedFlag): string {
  const flag = long === '--namespace' ? '-n' : long;
  return value === undefined ? flag : `${flag} ${shellWord(value)}`;
}
