import { type Command, Option } from 'commander';
import { NONE } from '../config/forms.ts';
import type { Given } from '../config/table.ts';
import type { CommonOptions } from '../session/context/options.ts';
import { FLAG_GROUPS } from './flag-groups.ts';
import { addSettingFlags } from './setting-flags.ts';
import type { OutputOptions } from './shell.ts';
import { invalid } from './usage.ts';

/** The flags of the settings are in the table of settings, and `givenBy` reads them. */
export interface CommonFlags {
  kubeconfig?: string;
  deployment?: string[];
  json?: true;
  quiet?: true;
  verbose?: true;
}

/** Throws `usage.invalid` if a Deployment is to be paused although the manager is not. */
export function requireFittingPause({ pause, alsoPause }: Given, name: string): void {
  if (alsoPause?.some((one) => one !== NONE) && (pause ?? 'auto') !== 'auto')
    throw invalid(
      `--also-pause and --pause ${pause} cannot be combined: with that, devloop pauses no Deployment.`,
      `${name} --also-pause ${alsoPause.join(' --also-pause ')}`,
    );
}

export interface TrustFlags {
  trustAccount?: string[];
}

/** Adds the flag that names accounts of a control plane whose accounts are not the usual ones. */
export function addTrustFlag(command: Command): Command {
  return command.option(
    '--trust-account <user>',
    'account of the control plane that devloop does not know: it may do what pausing and restoring the manager causes, without the review of an operator that cannot answer (repeatable)',
    (value: string, earlier: string[] = []) => [...earlier, value],
  );
}

/** Adds the flags of every command that talks to a cluster. */
export function addCommonFlags(command: Command): Command {
  command.optionsGroup(FLAG_GROUPS.cluster);
  return addSettingFlags(command, 'of the cluster')
    .option('--kubeconfig <file>', 'kubeconfig to use')
    .optionsGroup(FLAG_GROUPS.output)
    .option('--json', 'print one JSON event per line')
    .addOption(new Option('-q, --quiet', 'print only results, warnings and errors').conflicts('verbose'))
    .option('-v, --verbose', 'print every step')
    .helpOption('-h, --help', 'show this help');
}

/** The common options of a command that works on one Deployment. Throws `usage.invalid` if several are named, which only `up` accepts. */
export function commonOptions(
  { kubeconfig, deployment: named = [] }: CommonFlags,
  given: Given,
): CommonOptions {
  if (named.length > 1)
    throw invalid(
      'This command takes one --deployment.',
      'Run it once for each Deployment. Without --deployment, `devloop down` and `devloop status` cover all sessions.',
    );
  return { given, ...present({ kubeconfig }) };
}

export function outputOptions({ json, quiet, verbose }: CommonFlags, restores = false): OutputOptions {
  return { json: json ?? false, restores, verbosity: quiet ? 'quiet' : verbose ? 'verbose' : 'normal' };
}

/** Leaves out the keys whose value is undefined. */
export function present<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Adds examples below a command's help: what to type, and its purpose. */
export function addExamples(
  command: Command,
  name: string,
  examples: [typed: string, purpose: string][],
): Command {
  const lines = examples.map(([typed, purpose]) => `  # ${purpose}\n  ${name} ${typed}`.trimEnd());
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}
