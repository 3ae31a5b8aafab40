import type { CheckoutFacts } from '../checkout/facts.ts';
import type { Checkout } from '../checkout/files.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { Work } from '../cluster/work.ts';
import { type ExpandedArgument, expandArguments } from '../operator/environment.ts';
import type { Target } from '../operator/target.ts';
import { busyPortsIn } from './apply-rules.ts';
import { noteClusterHosts } from './cluster-hosts.ts';
import { containerArguments, inWorkingDirectory, requirePassable } from './container-arguments.ts';
import { planMountFlags } from './default-flags.ts';
import { defaultFlags } from './default-settings.ts';
import { withFlags } from './flag-place.ts';
import type { LocalFiles } from './key-pair-files.ts';
import { mountedTexts } from './local-copies.ts';
import { ARGUMENTS } from './own-command.ts';
import { otherMounts, type PlannedMounts, planMounts } from './plan-mounts.ts';
import type { PlannedProgram } from './program.ts';
import type { Here } from './rules.ts';
import { type OpenSettings, openSettings, type StartSettings } from './settings.ts';
import { type ManagerVariables, managerVariables } from './variables.ts';

/** What the manager's settings are read from. */
export interface SettingsInputs {
  api: ClusterApi;
  target: Target;
  checkout: Checkout;
  facts: CheckoutFacts;
  /** The variables that devloop.yaml sets. */
  settings: { env?: Record<string, string> };
  /** The settings of the controller that is already running, which itself uses the ports that they name. */
  running?: StartSettings | undefined;
  /** The name that the controller receives as its Pod's. */
  podName: string;
  /** The uid that the controller receives as its Pod's: a placeholder until the controller starts, if a Pod stands in for the manager's. */
  podUid?: string | undefined;
  /** devloop's own environment. */
  env: Record<string, string | undefined>;
  files: LocalFiles;
  /** The directories in which the manager's container sees the key pairs. */
  keyPairMounts: string[];
  keptProgram: string;
}

/** The manager's arguments, variables, mounted files and flag defaults, before any rule is applied to them. */
export interface ManagerSettings extends PlannedMounts {
  args: ExpandedArgument[];
  open: OpenSettings;
  here: Here;
}

/** Reads the settings with which the manager runs in the cluster, as the program gets them here. */
export async function readSettings(
  inputs: SettingsInputs,
  program: PlannedProgram,
  { emit }: Pick<Work, 'emit'>,
): Promise<ManagerSettings> {
  const { facts } = inputs;
  const environment = await managerVariables({ ...inputs, ...facts, ...program }, emit);
  // The user's command has its own arguments, unless it contains `{args}`.
  const takesArguments = program.run.includes(ARGUMENTS);
  const args = takesArguments ? await managerArguments(inputs, { program, environment }, { emit }) : [];
  const values = args.map(({ value }) => value);
  noteClusterHosts({ args: values, variables: environment.passable }, inputs.target, emit);
  const ofUser = Object.values(inputs.settings.env ?? {});
  const passed = [...values, ...Object.values(environment.passable), ...ofUser];
  const mounts = await planMounts({ ...inputs, ...program }, passed, emit);
  const known = { ...environment, ...facts, defaults: defaultFlags({ ...facts, ...program }) };
  const files = mountedTexts(mounts.copied);
  const open = openSettings({ args, variables: environment.passable, files }, known);
  const here = { ...facts, ...program, ...mounts, busyPorts: await busyPortsIn(open.read(), inputs.running) };
  return { args, open, here, ...mounts };
}

/** The container's arguments, and flags whose defaults are paths that only the Pod has. */
async function managerArguments(
  { target, facts, keyPairMounts }: SettingsInputs,
  { program, environment }: { program: PlannedProgram; environment: ManagerVariables },
  { emit }: Pick<Work, 'emit'>,
): Promise<ExpandedArgument[]> {
  const words = containerArguments(target, program.image, emit, program.argumentsIn);
  const given = program.argumentsIn?.(words) ?? words;
  const own = inWorkingDirectory(expandArguments(given, environment), target);
  requirePassable(given, own);
  const { manager } = target;
  if (manager === undefined) return own;
  const passed = [...own.map(({ value }) => value), ...Object.values(environment.passable)];
  const mounts = otherMounts(manager, keyPairMounts);
  const defaults = { ...facts, ...program, words: passed };
  const mounted = await planMountFlags({ ...defaults, mounts }, { emit });
  return withFlags(own, mounted, facts.commandNames);
}
