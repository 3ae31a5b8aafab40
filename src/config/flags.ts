/** A command with flags for settings. `config`, `test` and `crashtest` have those of `up`. */
export type CommandWithSettings = 'up' | 'plan' | 'down' | 'status' | 'doctor' | 'certs';

/** A group of flags in the help; `cluster` has those that choose the cluster and the operator. */
export type FlagGroup = 'takeOver' | 'controller' | 'reviews' | 'route' | 'cluster';

export interface SettingFlag {
  /** As the help spells it: `-n, --namespace <name>`. */
  spelled: string;
  of: readonly CommandWithSettings[];
  /** Where the help lists it; absent if its command has no groups. */
  group?: FlagGroup;
  /** The command for which a flag of one value can be repeated: each value is for a session of its own. */
  severalFor?: CommandWithSettings;
}

/** Stands for the words after `--`, which are no flag. */
export const AFTER_DASHES = '-- <command>';

/** `--namespace`, or `--` for the words after it. */
export function flagName({ spelled }: SettingFlag): string {
  return /--[\w-]*/.exec(spelled)?.[0] ?? spelled;
}

const EVERYWHERE = ['up', 'plan', 'down', 'status', 'doctor', 'certs'] as const;

/** A flag of each command that talks to a cluster. */
export function everywhere(spelled: string): SettingFlag {
  return { spelled, of: EVERYWHERE, group: 'cluster' };
}

/** A flag of the commands that run the controller. */
export function running(spelled: string): SettingFlag {
  return { spelled, of: ['up', 'plan'], group: 'controller' };
}

export function ofUp(spelled: string, group: FlagGroup): SettingFlag {
  return { spelled, of: ['up'], group };
}

/** A flag of `up` and of the command that checks whether `up` would work. */
export function planned(spelled: string, group: FlagGroup): SettingFlag {
  return { spelled, of: ['up', 'doctor'], group };
}
