import { type DefinedFlag, placeOf } from './cobra-commands.ts';

/**
 * Whether the name of a flag, variable or key says that it switches leader election on, or (`inverse`) off: `--enable-leader-election`,
 * `SHOP_LEADER_ELECT`, `leaderElection.enabled`. Names of other settings of leader election, such as LEADER_ELECTION_ID, say neither.
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

/** A variable in quotes, also in the tag of a field: `env:"SHOP_HA"`. */
const VARIABLE = /"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)"/g;

/**
 * The variables that a source file reads for the switch, whatever their names: on the same line as the switch, in the definition of its
 * flag (urfave/cli's `Name` and `EnvVars`), or for the variable or field that is assigned to the manager's option.
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

/** The definitions of flags that are named in a field: the lines between its braces. */
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
  /** Without dashes. */
  flag: string;
}

const BOOLEAN_FLAG =
  /(?:\b(\w+(?:\s*\.\w+\(\))?)\s*)?\.Bool(?:Var)?P?\(\s*(?:&?[\w.]+\s*,\s*)?(?:"([\w.-]{2,})"|([\w.]+))\s*,\s*(?:"\w?"\s*,\s*)?([\w.]+)\s*,/g;

/** The call that defines the flags of Kubernetes' own programs, in k8s.io/component-base; their defaults leave leader election on. */
const KUBERNETES_FLAGS = /\bBindLeaderElectionFlags\(\s*[^,()]+,\s*(\w+(?:\.\w+\(\))?)/g;

/** What the sources say about the defaults of the flags that switch leader election. */
export interface ElectionDefaults {
  /**
   * `value`: as written, also the name of a constant, a variable or a field of the options. A flag whose own name is a constant has
   * `constant` in its place.
   */
  flags: (ElectionFlag & { value: string; constant?: string | undefined })[];
  /** Constants that hold the name of a switch. */
  names: ByPlace<string>;
  /** Names that are set to true. */
  isTrue: ByPlace<true>;
}

/** A name in the sources -> the directories of the packages that define it -> what it stands for there. */
type ByPlace<T> = Map<string, Map<string, T>>;

export function noElectionDefaults(): ElectionDefaults {
  return { flags: [], names: new Map(), isTrue: new Map() };
}

/** `flagLeaderElect = "leader-elect"` */
const FLAG_NAME = /\b(\w+)(?:\s+string)?\s*:?=\s*"([\w.-]+)"/g;

/** `const defaultLeaderElect = true`, `&Options{LeaderElect: true}` */
const TRUE = /\b(\w+)(?:\s+bool)?\s*(?::?=|:)\s*true\b/g;

/** `directory` is that of the file. */
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
