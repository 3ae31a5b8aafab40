import { electionSwitch } from '../operator/leader-election.ts';
import { portOf as localPortOf, withPort } from './busy-ports.ts';
import { ELECTION_OFF, electionOff } from './leader-election.ts';
import { type MountedPath, rewritePaths } from './mounts.ts';

/** How this machine differs from the Pod. */
export interface LocalConditions {
  /** The Pod's mounted paths, and the paths of their copies on this machine. */
  paths: MountedPath[];
  /** Ports on which another process on this machine listens. */
  busyPorts: number[];
  /** Whether leader election stays on. */
  isElectable?: boolean;
}

/** A changed argument (a flag together with its value), and why it changed. */
export interface ArgumentChange {
  argument: string[];
  became: string[];
  because: string;
  /** Whether the controller may behave differently from the manager in the cluster. */
  isDoubtful?: true;
}

export interface Flag {
  /** The name with its dashes: Go's flag package, klog and zap accept one or two. */
  name: string;
  value: string | undefined;
  /** Whether the value is the next argument. */
  separate: boolean;
}

const METRICS_ADDRESS = /^--?(secure-)?(metrics|diagnostics)(-[a-z]+)*-(addr|address|port)$/i;
const HEALTH_ADDRESS = /^--?(health|healthz|readyz|probes?|pprof|profiler)(-[a-z]+)*-(addr|address|port)$/i;
/**
 * Matches `--controller-runtime-metrics-addr`. With more words in front, the flag can also be about metrics that another program serves.
 */
const PREFIXED =
  /-(metrics|diagnostics|healthz?|readyz|probes?|pprof|profiler)(-[a-z]+)*-(addr|address|port)$/;
const KUBECONFIG = /^--?kubeconfig$/;
const BOOLEAN = /^(true|false|t|f|0|1)$/i;

/** Returns `--metrics-port` for `--metricsPort`. */
function dashed(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
}

/** The Deployment's own arguments, changed only where they cannot work on this machine. */
export function localArguments(
  args: string[],
  conditions: LocalConditions,
): { args: string[]; changes: ArgumentChange[] } {
  const result: string[] = [];
  const changes: ArgumentChange[] = [];
  for (let index = 0; index < args.length; index++) {
    const flag = readFlag(args[index]!, args[index + 1]);
    const change = flag && changeFlag(flag, conditions);
    if (change) {
      const tokens = args.slice(index, index + (flag.separate ? 2 : 1));
      const { tokens: became, ...why } = change;
      changes.push({ argument: tokens, became, ...why });
      result.push(...change.tokens);
      index += tokens.length - 1;
      continue;
    }
    const argument = args[index]!;
    const became = rewritePaths(argument, conditions.paths);
    if (became !== argument)
      changes.push({
        argument: [argument],
        became: [became],
        because: 'on this machine, the mounted files are there',
      });
    result.push(became);
  }
  return { args: result, changes };
}

export function readFlag(argument: string, next: string | undefined): Flag | undefined {
  const match = /^(--?[A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argument);
  if (!match) return undefined;
  const name = match[1]!;
  if (match[2] !== undefined) return { name, value: match[2], separate: false };
  const takesNext = next !== undefined && (electionSwitch(name) ? BOOLEAN.test(next) : !next.startsWith('-'));
  return { name, value: takesNext ? next : undefined, separate: takesNext };
}

function changeFlag(
  flag: Flag,
  conditions: LocalConditions,
): ({ tokens: string[] } & Pick<ArgumentChange, 'because' | 'isDoubtful'>) | undefined {
  const election = electionSwitch(flag.name);
  if (election !== undefined) return conditions.isElectable ? undefined : leaderElectionOff(flag, election);
  // The kubeconfig could name a credential plugin, which would run on this machine. Like the variable KUBECONFIG, the flag describes the
  // container.
  if (KUBECONFIG.test(flag.name)) return { tokens: [], ...(flag.value ? OTHER_KUBECONFIG : YOUR_KUBECONFIG) };
  const port = portOf(flag);
  if (port === undefined || !conditions.busyPorts.includes(port)) return undefined;
  const name = dashed(flag.name);
  const free = METRICS_ADDRESS.test(name) || name.endsWith('port') ? '0' : freeAddress(flag.value!);
  const tokens = flag.separate ? [flag.name, free] : [`${flag.name}=${free}`];
  return { tokens, because: `port ${port} is in use on this machine` };
}

const YOUR_KUBECONFIG = { because: 'the controller uses your kubeconfig' };
const OTHER_KUBECONFIG = {
  because:
    'the controller uses your kubeconfig. If the flag names a file for another API server, the controller now works with the wrong one.',
  isDoubtful: true,
} as const;

/** A loopback address stays a loopback address: other machines must not reach Go's profiler. */
function freeAddress(value: string): string {
  return value.includes(':') && localPortOf(value) !== undefined ? withPort(value, 0) : ':0';
}

/** Outside a Pod, controller-runtime fails with "unable to find leader election namespace". A switch without a value means true. */
function leaderElectionOff(
  { name, value = 'true' }: Flag,
  sense: 'on' | 'inverse',
): { tokens: string[]; because: string } | undefined {
  const off = electionOff(sense, value);
  return off === undefined ? undefined : { tokens: [`${name}=${off}`], because: ELECTION_OFF };
}

/** The ports of metrics and health checks that these arguments name. */
export function auxiliaryPorts(args: string[]): number[] {
  const flags = args.flatMap((argument, index) => readFlag(argument, args[index + 1]) ?? []);
  const ports = flags.flatMap((flag) => portOf(flag) ?? []);
  return [...new Set(ports)].filter((port) => port > 0 && port < 65_536);
}

function portOf(flag: Flag): number | undefined {
  const name = dashed(flag.name);
  if (!METRICS_ADDRESS.test(name) && !HEALTH_ADDRESS.test(name))
    return PREFIXED.test(name) ? localPortOf(flag.value ?? '') : undefined;
  const digits = /^(?:.*:)?(\d+)$/.exec(flag.value ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
