import type { Flag } from './flags.ts';

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

/**
 * Whether the default of a flag may leave leader election on. That of a switch counts as false, Go's zero value, if only the program knows
 * it.
 */
export function mayLeaveElectionOn({ by, flag, kind, value }: Flag): boolean {
  const sense = electionSwitch(flag);
  if (by !== 'call' || sense === undefined) return false;
  return kind === 'boolean' ? (value === true) === (sense === 'on') : typeof value === 'string';
}

const SWITCH =
  /(?:^|_)(?:(disable|no|skip|without)_)?leader_?elect(?:ion|or)?(?:_(?:(disabled?)|enabled?|enable|on|active))?$/;

/** A name in quotes that can be a variable's. */
export const QUOTED_VARIABLE = /"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)"/g;

/** Whether a variable of this name switches leader election on. */
export function isElectionSwitch(name: string): boolean {
  return /elect/i.test(name) && electionSwitch(name) === 'on';
}

/** The variables on lines of a source that name the switch, whatever its language. */
export function electionVariablesOnLines(text: string): string[] {
  const lines = text
    .split('\n')
    .filter((line) => (line.match(/[\w.-]+/g) ?? []).some((word) => isElectionSwitch(word)));
  return lines.flatMap((line) => [...line.matchAll(QUOTED_VARIABLE)].map(([, name]) => name!));
}
