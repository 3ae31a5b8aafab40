import { electionSwitch } from '../operator/leader-election.ts';
import { editSettings } from './settings-file.ts';

export const ELECTION_OFF = 'leader election only works in a Pod';

const TRUE = /^(?:true|t|1|yes|y|on|enabled?)$/i;
const FALSE = /^(?:false|f|0|no|n|off|disabled?)$/i;

/** The opposite of a boolean, written in the same way; undefined for anything else. */
const OPPOSITES: Record<string, string> = Object.fromEntries(
  ['true false', 't f', '1 0', 'yes no', 'y n', 'on off', 'enabled disabled', 'enable disable']
    .map((pair) => pair.split(' ') as [string, string])
    .flatMap(([yes, no]) => [
      [yes, no],
      [no, yes],
    ]),
);

/** The value that turns leader election off, in the style of `value`; undefined if `value` does not turn it on. */
export function electionOff(sense: 'on' | 'inverse', value: string): string | undefined {
  if (!(sense === 'on' ? TRUE : FALSE).test(value)) return undefined;
  const opposite = OPPOSITES[value.toLowerCase()]!;
  if (value === value.toUpperCase()) return opposite.toUpperCase();
  return /^[A-Z]/.test(value) ? opposite[0]!.toUpperCase() + opposite.slice(1) : opposite;
}

/** A variable that turned leader election on. */
export interface VariableChange {
  name: string;
  before: string;
  after: string;
}

/**
 * The changes that turn leader election off. `bound`: variables that the sources read for the leader election switch, whatever their names.
 */
export function variablesWithoutElection(
  variables: Record<string, string>,
  bound: ReadonlySet<string>,
): VariableChange[] {
  return Object.entries(variables).flatMap(([name, before]) => {
    const sense = electionSwitch(name) ?? (bound.has(name) ? 'on' : undefined);
    const after = sense && electionOff(sense, before);
    return after === undefined ? [] : [{ name, before, after }];
  });
}

/** A configuration file with leader election turned off; undefined if it is not on. */
export function fileWithoutElection(text: string): string | undefined {
  if (!/leader[-_]?elect/i.test(text)) return undefined;
  return editSettings(text, offFor);
}

/** `leaderElection: {enabled: true}` counts as the switch `leaderElection.enabled`. */
function offFor(key: string, outer: string, value: string): string | undefined {
  const sense = electionSwitch(key) ?? (electionSwitch(outer) && electionSwitch(`${outer}_${key}`));
  return sense && electionOff(sense, value);
}
