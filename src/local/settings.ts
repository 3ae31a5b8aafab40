import { basename } from 'node:path';
import { electionSwitch } from '../checkout/election-switch.ts';
import type { Flag } from '../checkout/flags.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import type { DefaultFlag } from './default-settings.ts';
import { flagPlace } from './flag-place.ts';
import { editSettings } from './settings-file.ts';

/** What the controller is started with. */
export interface StartSettings {
  args: ExpandedArgument[];
  variables: Record<string, string>;
  /** The texts of its mounted files, by the path of the copy on this machine. */
  files: ReadonlyMap<string, string>;
}

/** Where a setting of the manager is: an argument, a variable, a mounted file, or the default of a flag that no argument sets. */
export type Place = 'flag' | 'variable' | 'file' | 'default';

export interface Setting {
  /** `--metrics-addr`, `METRICS_ADDR`, `metrics.bindAddress`; empty for an argument without a flag, and for the text of a file. */
  name: string;
  /** The words of the name: `health_probe_bind_address`. */
  words: string;
  value: string;
  /** The value without what comes from a Secret; undefined if nothing of it can be shown. */
  shown: string | undefined;
  in: Place;
  /** The name of the file. */
  file?: string;
  /** For a default: whether the program has the flag. */
  isOfProgram?: () => Promise<boolean>;
  /** Null leaves an argument out. */
  set(value: string | null, shown: string): void;
}

/** What is known about the settings besides the settings themselves. */
export interface KnownSettings {
  /** The flags that the sources define. */
  flags?: Flag[];
  /** The names of the variables whose values come from Secrets. */
  secrets: ReadonlySet<string>;
  /** The flags with defaults that the program reads if it gets these arguments. */
  defaults?: (words: string[]) => DefaultFlag[];
  /** Names that the sources give to commands. */
  commandNames: ReadonlySet<string>;
}

/** The manager's settings while they are made local. */
export interface OpenSettings {
  /** The settings as they are now, in every place. */
  read(): Setting[];
  result(): StartSettings;
}

export function openSettings(start: StartSettings, known: KnownSettings): OpenSettings {
  // A flag and the argument that is its value are one entry.
  const entries = entriesOf(start.args, known.flags);
  const variables = { ...start.variables };
  const files = new Map(start.files);
  const read = new Map<string, { text: string; settings: Setting[] }>();
  const inFile = (path: string): Setting[] => {
    const [text, known] = [files.get(path)!, read.get(path)];
    if (known?.text === text) return known.settings;
    const settings = ofFile(path, files);
    read.set(path, { text, settings });
    return settings;
  };
  const words = (): string[] => entries.flat().map(({ value }) => value);
  const add = (flag: string): void => {
    // Words before the first flag are an entry each.
    entries.splice(flagPlace(words(), known.commandNames), 0, [{ value: flag, shown: flag }]);
  };
  return {
    read: () => [
      ...entries.flatMap((entry) => ofArgument(entry, known.flags)),
      ...Object.keys(variables).map((name) => ofVariable(name, variables, known.secrets)),
      ...[...files.keys()].flatMap(inFile),
      ...(known.defaults?.(words()) ?? []).map((flag) => ofDefault(flag, add)),
    ],
    result: () => ({ args: entries.flat(), variables, files }),
  };
}

function entriesOf(args: ExpandedArgument[], flags: Flag[] | undefined): ExpandedArgument[][] {
  const entries: ExpandedArgument[][] = [];
  for (let index = 0; index < args.length; index++) {
    const isPair = readFlag(args[index]!.value, args[index + 1]?.value, flags)?.separate === true;
    entries.push(args.slice(index, isPair ? index + 2 : index + 1));
    if (isPair) index += 1;
  }
  return entries;
}

function ofArgument(entry: ExpandedArgument[], flags: Flag[] | undefined): Setting[] {
  const [first, next] = entry;
  // It has been left out.
  if (first === undefined) return [];
  const flag = readFlag(first.value, next?.value, flags);
  // Go's flag package takes the next argument as the value of every flag except a switch.
  const isPair = flag?.separate === true && !flag.isSwitch;
  const shown = flag === undefined ? first.shown : readFlag(first.shown, next?.shown, flags)?.value;
  return [
    {
      ...named(flag?.name ?? '', flag === undefined ? first.value : (flag.value ?? 'true')),
      shown: flag !== undefined && flag.value === undefined ? 'true' : shown,
      in: 'flag',
      set(value, shown) {
        const write = (one: string): string[] => {
          if (flag === undefined) return [one];
          return isPair ? [flag.name, one] : [`${flag.name}=${one}`];
        };
        const [words, shownWords] = value === null ? [[], []] : [write(value), write(shown)];
        entry.splice(0, entry.length, ...words.map((one, at) => ({ value: one, shown: shownWords[at]! })));
      },
    },
  ];
}

function ofVariable(
  name: string,
  variables: Record<string, string>,
  secrets: KnownSettings['secrets'],
): Setting {
  const value = variables[name]!;
  return {
    ...named(name, value),
    shown: secrets.has(name) ? undefined : value,
    in: 'variable',
    set(after) {
      variables[name] = after ?? '';
    },
  };
}

/** The settings in a file, and its whole text as one more. */
function ofFile(path: string, files: Map<string, string>): Setting[] {
  const text = files.get(path)!;
  const settings: Setting[] = [];
  const note = (name: string, value: string, set: (after: string | null) => void): void => {
    settings.push({ ...named(name, value), shown: value, in: 'file', file: basename(path), set });
  };
  editSettings(text, (key, outer, value) => {
    const at = settings.length;
    note(outer === '' ? key : `${outer}.${key}`, value, (after) => {
      files.set(path, withSetting(files.get(path)!, at, after ?? ''));
    });
    return undefined;
  });
  note('', text, (after) => files.set(path, after ?? ''));
  return settings;
}

/** Changes the setting with the index `at`, counted in the order of the file. */
function withSetting(text: string, at: number, value: string): string {
  let count = 0;
  return editSettings(text, () => (count++ === at ? value : undefined)) ?? text;
}

function ofDefault({ flag, value, isOfProgram }: DefaultFlag, add: (flag: string) => void): Setting {
  const name = `--${flag}`;
  return {
    ...named(name, value),
    shown: value,
    in: 'default',
    isOfProgram,
    set: (after) => add(`${name}=${after}`),
  };
}

function named(name: string, value: string): Pick<Setting, 'name' | 'words' | 'value'> {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();
  return { name, words, value };
}

interface GivenFlag {
  /** The name with its dashes: Go's flag package, klog and zap accept one or two. */
  name: string;
  value: string | undefined;
  /** Whether the value is the next argument. */
  separate: boolean;
  /** Whether it is on without a value. */
  isSwitch: boolean;
}

const BOOLEAN = /^(true|false|t|f|0|1)$/i;

/** If the sources do not define the flag, or in both ways, its name decides. Some programs take the value of a switch from the next word. */
export function readFlag(
  argument: string,
  next: string | undefined,
  flags: Flag[] = [],
): GivenFlag | undefined {
  const match = /^(--?[A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argument);
  if (!match) return undefined;
  const name = match[1]!;
  const defined = flags.filter(({ flag }) => flag === name.replace(/^-+/, ''));
  const [is, ...other] = new Set(defined.map(({ kind }) => kind === 'boolean'));
  const isKnown = is !== undefined && other.length === 0;
  const isSwitch = isKnown ? is : electionSwitch(name) !== undefined;
  if (match[2] !== undefined) return { name, value: match[2], separate: false, isSwitch };
  const isValue = (text: string): boolean =>
    isSwitch ? !isKnown && BOOLEAN.test(text) : !text.startsWith('-');
  const takesNext = next !== undefined && isValue(next);
  return { name, value: takesNext ? next : undefined, separate: takesNext, isSwitch };
}
