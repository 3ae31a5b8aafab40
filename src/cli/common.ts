import { type Command, Option } from 'commander';
import { PAUSE_CHOICES, type PauseChoice } from '../config/choices.ts';
import { ADDRESS, ALSO_PAUSE, IMAGE, NAMESPACE, NETWORK, NONE, OBJECT_NAME } from '../config/forms.ts';
import { EXPECTED_ROUTE, type RouteChoice } from '../config/route-choice.ts';
import type { CommonOptions, PauseOptions, RouteOptions } from '../session/context/options.ts';
import type { OutputOptions } from './shell.ts';
import { invalid } from './usage.ts';
import { collectForms, parseForm, parsePackage, parsePort, parseRoute } from './values.ts';

export interface CommonFlags {
  kubeconfig?: string;
  context?: string;
  namespace?: string;
  service?: string[];
  deployment?: string[];
  json?: true;
  quiet?: true;
  verbose?: true;
}

export interface RouteFlags {
  route?: RouteChoice;
  address?: string;
  port?: number;
  allowFrom?: string[];
  relayImage?: string;
}

export interface PauseFlags {
  pause?: PauseChoice;
  alsoPause?: string[];
}

/** Adds the flags that determine how reviews reach this machine. */
export function addRouteFlags(command: Command): Command {
  return command
    .option('--route <route>', `${EXPECTED_ROUTE} (default: auto)`, parseRoute)
    .option(
      '--address <ip>',
      'address of this machine, or of the SSH host, for the cluster to call',
      parseForm(ADDRESS),
    )
    .option('--port <n>', 'port for the cluster to call (default: any free one)', parsePort)
    .option(
      '--allow-from <cidr>',
      'network that is allowed to connect to that port (repeatable)',
      collectForms(NETWORK),
    )
    .option('--relay-image <image>', 'image for the relay Pod; it must contain Node', parseForm(IMAGE));
}

/** Adds the flags that determine how the in-cluster manager is paused, and what else. */
export function addPauseFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--pause <how>',
        'pause the in-cluster manager according to the owner of its Pods (auto, the default), by its leader Lease, or not at all',
      ).choices(PAUSE_CHOICES),
    )
    .option(
      '--also-pause <ns/name>',
      'pause this Deployment, too, because it would overwrite what devloop changes (repeatable); none: pause no other',
      collectForms(ALSO_PAUSE),
    );
}

/** Throws `usage.invalid` if a Deployment is to be paused although the manager is not. */
export function pauseOptions({ pause, alsoPause }: PauseFlags, name: string): PauseOptions {
  if (alsoPause?.some((one) => one !== NONE) && (pause ?? 'auto') !== 'auto')
    throw invalid(
      `--also-pause and --pause ${pause} cannot be combined: with that, devloop pauses no Deployment.`,
      `${name} --also-pause ${alsoPause.join(' --also-pause ')}`,
    );
  return present({ pause, alsoPause });
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

export interface ProgramFlags {
  package?: string;
}

/** Adds the flag that names what the controller is built from. */
export function addPackageFlag(command: Command): Command {
  return command.option(
    '--package <dir>',
    "the controller's main package, such as ./cmd/manager (default: discovered)",
    parsePackage,
  );
}

export function routeOptions({ route, address, port, allowFrom, relayImage }: RouteFlags): RouteOptions {
  return present({ route, address, port, allowFrom, relayImage });
}

/** Adds the flags of every command that talks to a cluster. */
export function addCommonFlags(command: Command): Command {
  return command
    .optionsGroup('Cluster and operator (discovered by default):')
    .option('--context <name>', 'kubeconfig context to use')
    .option('-n, --namespace <name>', 'namespace of the operator', parseForm(NAMESPACE))
    .option('--kubeconfig <file>', 'kubeconfig to use')
    .option('--service <[ns/]name>', 'webhook Service (repeatable)', collectForms(OBJECT_NAME))
    .option(
      '--deployment <[ns/]name>',
      `Deployment, StatefulSet or DaemonSet of the operator${command.name() === 'up' ? ' (repeatable)' : ''}`,
      collectForms(OBJECT_NAME),
    )
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .addOption(new Option('-q, --quiet', 'print only results, warnings and errors').conflicts('verbose'))
    .option('-v, --verbose', 'print every step')
    .helpOption('-h, --help', 'show this help');
}

/** The common options of a command that works on one Deployment. Throws `usage.invalid` if several are named, which only `up` accepts. */
export function commonOptions(flags: CommonFlags): CommonOptions {
  const { kubeconfig, context, namespace, service = [], deployment = [] } = flags;
  if (deployment.length > 1)
    throw invalid(
      'This command takes one --deployment.',
      'Run it once for each Deployment. Without --deployment, `devloop down` and `devloop status` cover all sessions.',
    );
  return { services: service, ...present({ kubeconfig, context, namespace, deployment: deployment[0] }) };
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
