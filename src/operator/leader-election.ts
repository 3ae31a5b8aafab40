import { type DefinedFlag, placeOf } from './cobra-commands.ts';

/**
 * Whether a flag, variable or key of this name switches leader election on or (`inverse`) off: `--enable-leader-election`,
 * `SHOP_LEADER_ELECT`, `leaderElection.enabled`. Names of other settings of leader election, such as LEADER_ELECTION_ID, do neither.
 */
export function electionSwitch(name: string): 'on' | 'inverse' | undefined {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();
  const match = SWITCH.exec(words);
  if (!match) return undefined;
  return match[1] !== undefined || match[2] !== undefined ? 'inverse' : 'on';
}

const SWITCH =
  /(?:^|_)(?:(disable|no|skip|without)_)?leader_?elect(?:ion|or)?(?:_(?:(disabled?)|enabled?|enable|on|active))?$/;

/** Matches the name of a variable in quotes, also in a struct tag: `env:"SHOP_HA"`. */
const VARIABLE = /"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)"/g;

/**
 * The environment variables from which a source file reads the leader election switch, whatever their names. Their names appear on a line
 * that names the switch, in the definition of its flag (urfave/cli's `Name` and `EnvVars`), or on a line with the variable or field that is
 * assigned to the manager's option.
 */
export function electionVariables(text: string): string[] {
  if (!/leader[-_]?elect/i.test(text)) return [];
  const lines = text.split('\n');
  const options = [...text.matchAll(/\bLeaderElection:\s*\*?(?:\w+\.)*(\w+)/g)].map(([, name]) => name!);
  const places = [
    ...lines.filter((line) => (line.match(/[\w.-]+/g) ?? []).some((word) => electionSwitch(word) === 'on')),
    ...lines.filter((line) =>
      options.some((name) => new RegExp(`\\b${name}\\b\\s*(?::?=|,|bool\\b)`).test(line)),
    ),
    ...definitionsIn(text),
  ];
  return [...new Set(places.flatMap((place) => [...place.matchAll(VARIABLE)].map(([, name]) => name!)))];
}

/** The definitions of flags whose name is in a field `Name`: the text between their braces. */
function definitionsIn(text: string): string[] {
  return [...text.matchAll(/\bName:\s*"([\w.-]+)"/g)]
    .filter(([, name]) => electionSwitch(name!) === 'on')
    .map(({ index }) => text.slice(text.lastIndexOf('{', index), endOfBlock(text, index)));
}

function endOfBlock(text: string, from: number): number {
  const end = text.slice(from).search(/\n\s*\}/);
  return end < 0 ? from : from + end;
}

/** A flag whose default leaves leader election on. */
export interface ElectionFlag extends DefinedFlag {
  /** The flag's name, without dashes. */
  flag: string;
}

const BOOLEAN_FLAG =
  /(?:\b(\w+(?:\s*\.\w+\(\))?)\s*)?\.Bool(?:Var)?P?\(\s*(?:&?[\w.]+\s*,\s*)?(?:"([\w.-]{2,})"|([\w.]+))\s*,\s*(?:"\w?"\s*,\s*)?([\w.]+)\s*,/g;

/**
 * Matches the call that defines the flags of Kubernetes' own programs, in k8s.io/component-base; their defaults leave leader election on.
 */
const KUBERNETES_FLAGS = /\bBindLeaderElectionFlags\(\s*[^,()]+,\s*(\w+(?:\.\w+\(\))?)/g;

/** What the sources define about the defaults of the flags that switch leader election. */
export interface ElectionDefaults {
  /**
   * `value`: the default as written, which can also be the name of a constant, a variable or a field of the options. `constant`: the
   * constant that names the flag, if its name is not written out.
   */
  flags: (ElectionFlag & { value: string; constant?: string | undefined })[];
  /** Constants whose value is the name of a switch. */
  names: ByPlace<string>;
  /** Names that are set to true. */
  isTrue: ByPlace<true>;
}

/** For each name in the sources and each directory of a package that defines it, what the name stands for there. */
type ByPlace<T> = Map<string, Map<string, T>>;

export function noElectionDefaults(): ElectionDefaults {
  return { flags: [], names: new Map(), isTrue: new Map() };
}

/** Matches `flagLeaderElect = "leader-elect"`. */
const FLAG_NAME = /\b(\w+)(?:\s+string)?\s*:?=\s*"([\w.-]+)"/g;

/** Matches `const defaultLeaderElect = true` and `&Options{LeaderElect: true}`. */
const TRUE = /\b(\w+)(?:\s+bool)?\s*(?::?=|:)\s*true\b/g;

/** Adds what one source file defines. `directory`: the file's directory. */
export function collectElectionDefaults(
  text: string,
  directory: string,
  { flags, names, isTrue }: ElectionDefaults,
): void {
  for (const match of text.matchAll(BOOLEAN_FLAG)) {
    const [, , flag = '', constant, value = ''] = match;
    if (constant !== undefined || electionSwitch(flag))
      flags.push({ flag, constant, value, ...placeOf(match, text, directory) });
  }
  for (const match of text.matchAll(KUBERNETES_FLAGS))
    flags.push({ flag: 'leader-elect', value: 'true', ...placeOf(match, text, directory) });
  for (const [, name = '', flag = ''] of text.matchAll(FLAG_NAME))
    if (electionSwitch(flag)) note(names, name, directory, flag);
  for (const [, name = ''] of text.matchAll(TRUE)) note(isTrue, name, directory, true);
}

/** The flags whose default leaves leader election on. */
export function electionFlags({ flags, names, isTrue }: ElectionDefaults): ElectionFlag[] {
  return flags.flatMap(({ value, constant, ...rest }) => {
    const { directory } = rest;
    const flag = constant === undefined ? rest.flag : meaningOf(constant, directory, names);
    if (flag === undefined) return [];
    const isOn = value === 'true' || meaningOf(value, directory, isTrue) !== undefined;
    return isOn === (electionSwitch(flag) === 'on') ? [{ ...rest, flag }] : [];
  });
}

function note<T>(places: ByPlace<T>, name: string, directory: string, meaning: T): void {
  const known = places.get(name) ?? new Map<string, T>();
  if (!known.has(directory)) known.set(directory, meaning);
  places.set(name, known);
}

/** A name without `elect` in it counts only in its own package. */
function meaningOf<T>(written: string, directory: string, places: ByPlace<T>): T | undefined {
  const name = written.split('.').at(-1)!;
  const known = places.get(name);
  return known?.get(directory) ?? (/elect/i.test(name) ? known?.values().next().value : undefined);
}
