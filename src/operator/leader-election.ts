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
  /** A constant -> the names of switches that packages give it, with the directories of these packages. */
  names: Map<string, { flag: string; directory: string }[]>;
  /** A name that is set to true -> the directories of the packages that set it. */
  isTrue: Map<string, Set<string>>;
}

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
    if (electionSwitch(flag)) names.set(name, [...(names.get(name) ?? []), { flag, directory }]);
  for (const [, name = ''] of text.matchAll(TRUE))
    isTrue.set(name, (isTrue.get(name) ?? new Set()).add(directory));
}

/** The flags whose default leaves leader election on. A name without `elect` in it counts only in its own package. */
export function electionFlags({ flags, names, isTrue }: ElectionDefaults): ElectionFlag[] {
  const nameOf = (constant: string, directory: string): string | undefined => {
    const name = constant.split('.').at(-1)!;
    const given = names.get(name) ?? [];
    const own = given.find((one) => one.directory === directory);
    return (own ?? (/elect/i.test(name) ? given[0] : undefined))?.flag;
  };
  const isOn = (value: string, directory: string): boolean => {
    const name = value.split('.').at(-1)!;
    const places = isTrue.get(name);
    return (
      value === 'true' || (places?.has(directory) ?? false) || (/elect/i.test(name) && places !== undefined)
    );
  };
  return flags.flatMap(({ value, constant, ...rest }) => {
    const flag = constant === undefined ? rest.flag : nameOf(constant, rest.directory);
    if (flag === undefined) return [];
    return isOn(value, rest.directory) === (electionSwitch(flag) === 'on') ? [{ ...rest, flag }] : [];
  });
}
