import { type DefinedFlag, placeOf } from './cobra-commands.ts';

/**
 * How the names of flags, variables and keys say that they switch leader election on, or (`inverse`) off: `--enable-leader-election`,
 * `SHOP_LEADER_ELECT`, `leaderElection.enabled`. Names of its other settings, such as LEADER_ELECTION_ID, say neither.
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

/** In quotes, also in the tag of a field: `env:"SHOP_HA"`. */
const VARIABLE = /"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)"/g;

/**
 * The variables that a source file reads for the switch, whatever their names: on one line with it, in the definition of its flag
 * (urfave/cli's `Name` and `EnvVars`), or for the variable or field that is assigned to the manager's option.
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
  /(?:\b(\w+(?:\s*\.\w+\(\))?)\s*)?\.Bool(?:Var)?P?\(\s*(?:&?[\w.]+\s*,\s*)?"([\w.-]+)"\s*,\s*(?:"\w?"\s*,\s*)?(true|false)\s*,/g;

/** Of k8s.io/component-base, which defines the flags of Kubernetes' own programs; their defaults leave it on. */
const KUBERNETES_FLAGS = /\bBindLeaderElectionFlags\(\s*[^,()]+,\s*(\w+(?:\.\w+\(\))?)/g;

/** The flags of a source file in this directory whose default leaves leader election on. */
export function electionFlags(text: string, directory: string): ElectionFlag[] {
  const defined = (flag: string, match: RegExpExecArray): ElectionFlag => ({
    flag,
    ...placeOf(match, text, directory),
  });
  const own = [...text.matchAll(BOOLEAN_FLAG)]
    .filter(([, , name, value]) => electionSwitch(name!) === (value === 'true' ? 'on' : 'inverse'))
    .map((match) => defined(match[2]!, match));
  const kubernetes = [...text.matchAll(KUBERNETES_FLAGS)].map((match) => defined('leader-elect', match));
  return [...own, ...kubernetes];
}
