import { type MountedPath, rewritePaths } from './mounts.ts';

export interface ArgumentSituation {
  /** Where the Deployment mounts what lies elsewhere on this machine. */
  paths: MountedPath[];
  /** Ports that another process of this machine listens on. */
  busyPorts: number[];
}

export interface ArgumentNote {
  argument: string;
  became: string;
  because: string;
}

interface Flag {
  /** With its dashes: Go's flag package, klog and zap take one or two. */
  name: string;
  value: string | undefined;
  /** The value stands in the next token. */
  separate: boolean;
}

const LEADER_ELECTION = /^--?(enable-)?leader-elect(ion|or)?(-enabled?)?$/i;
const METRICS_ADDRESS = /^--?(secure-)?(metrics|diagnostics)(-[a-z]+)*-(addr|address|port)$/i;
const HEALTH_ADDRESS = /^--?(health|healthz|readyz|probe|pprof|profiler)(-[a-z]+)*-(addr|address|port)$/i;
const FALSE = new Set(['false', 'f', '0']);
const BOOLEAN = /^(true|false|t|f|0|1)$/i;

/** The Deployment's own arguments, changed only where they cannot hold on this machine. */
export function localArguments(
  args: string[],
  situation: ArgumentSituation,
): { args: string[]; notes: ArgumentNote[] } {
  const result: string[] = [];
  const notes: ArgumentNote[] = [];
  for (let index = 0; index < args.length; index++) {
    const flag = readFlag(args[index]!, args[index + 1]);
    const change = flag && changeFlag(flag, situation);
    if (change) {
      const tokens = args.slice(index, index + (flag.separate ? 2 : 1));
      notes.push({ argument: tokens.join(' '), became: change.tokens.join(' '), because: change.because });
      result.push(...change.tokens);
      index += tokens.length - 1;
      continue;
    }
    const argument = args[index]!;
    const became = rewritePaths(argument, situation.paths);
    if (became !== argument) notes.push({ argument, became, because: 'the mounted files lie there' });
    result.push(became);
  }
  return { args: result, notes };
}

function readFlag(argument: string, next: string | undefined): Flag | undefined {
  const match = /^(--?[A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argument);
  if (!match) return undefined;
  const name = match[1]!;
  if (match[2] !== undefined) return { name, value: match[2], separate: false };
  const takesNext =
    next !== undefined && (LEADER_ELECTION.test(name) ? BOOLEAN.test(next) : !next.startsWith('-'));
  return { name, value: takesNext ? next : undefined, separate: takesNext };
}

function changeFlag(
  flag: Flag,
  situation: ArgumentSituation,
): { tokens: string[]; because: string } | undefined {
  if (LEADER_ELECTION.test(flag.name)) return withoutElection(flag);
  const port = portOf(flag);
  if (port === undefined || !situation.busyPorts.includes(port)) return undefined;
  const free = METRICS_ADDRESS.test(flag.name) || flag.name.endsWith('port') ? '0' : ':0';
  const tokens = flag.separate ? [flag.name, free] : [`${flag.name}=${free}`];
  return { tokens, because: `port ${port} is in use on this machine` };
}

/** Outside a cluster controller-runtime ends with "unable to find leader election namespace". */
function withoutElection(flag: Flag): { tokens: string[]; because: string } | undefined {
  if (flag.value !== undefined && FALSE.has(flag.value.toLowerCase())) return undefined;
  return {
    tokens: [`${flag.name}=false`],
    because: 'leader election needs a Pod',
  };
}

function portOf(flag: Flag): number | undefined {
  if (!METRICS_ADDRESS.test(flag.name) && !HEALTH_ADDRESS.test(flag.name)) return undefined;
  const digits = /^(?:.*:)?(\d+)$/.exec(flag.value ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
