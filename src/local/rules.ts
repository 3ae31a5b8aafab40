import { electionSwitch } from '../checkout/election-switch.ts';
import { type MountedPath, rewriteMentions, rewritePaths } from './mounts.ts';
import { ANY_PORT, type OtherPort, portOf, withPort } from './ports.ts';
import type { Setting } from './settings.ts';

/** How this machine differs from the Pod. */
export interface Here {
  /** The Pod's mounted paths, and the paths of their copies on this machine. */
  paths: MountedPath[];
  /** Ports on which another process on this machine listens. */
  busyPorts: number[];
  /** Whether leader election stays on. */
  isElectable: boolean;
  /** Variables that the sources read for the leader election switch, whatever their names. */
  electionVariables: ReadonlySet<string>;
}

/** What has to be different on this machine. The same row serves arguments, variables, mounted files and defaults of flags. */
export interface Rule {
  name: string;
  /** Whether the rule is about this setting, by its name and words, whatever its value. */
  looksFor(setting: Setting, here: Here): boolean;
  /** The value that works on this machine: undefined if the present one does, null if the argument has to be left out. */
  becomes(setting: Setting, here: Here): string | null | undefined;
  /** The end of the note: why. */
  because(setting: Setting): string;
  /** Whether the controller may behave differently from the manager in the cluster, so that a warning says it. */
  isDoubtful?(setting: Setting): boolean;
  /** Which of the settings that would change really do. */
  choose?(settings: Setting[]): Setting[];
}

/** A word that can stand in a name between what is served and `address` or `port`. */
const WORD =
  '(?:bind|listen|server|serving|https?|grpc|tls|secure|probes?|checks?|health|healthz|liveness|readiness|metrics|exporter|prometheus|endpoint)';
/** Matches names of settings that choose the address or port of metrics or health checks: `SHOP_METRICS_ADDR`, `metrics.port`. */
const AUXILIARY = new RegExp(
  `(?:^|_)(?:metrics|diagnostics|health|healthz|readyz|probes?|pprof|profiler)(?:_${WORD})*_(?:addr|address|port)$`,
);
/** Matches `webhook-port` and `WEBHOOK_BIND_ADDRESS`. */
const WEBHOOK = new RegExp(`(?:^|_)(?:webhooks?|admission)(?:_${WORD})*_(?:addr|address|port)$`);
/** Matches `port`, `secure-port` and `AGENT_INJECT_LISTEN`. Such a setting is used only if it is the only one with the Pod's port. */
const ANY = /(?:^|_)(?:addr|address|port|listen)$/;
/** Matches names of ports at which others reach the manager, and names of ports of something else. */
const OTHER =
  /(?:^|_)(?:services?|svc|advertised?|external|public|host|proxy|target|remote|peers?|upstream|containers?|nodes?)_/;

const YOUR_KUBECONFIG = 'the controller uses your kubeconfig';

/** The rules, in the order in which they are applied. */
export const RULES: Rule[] = [
  {
    // The kubeconfig could name a credential plugin, which would run on this machine. The variable KUBECONFIG is the machine's own.
    name: 'kubeconfig',
    looksFor: ({ name, in: place }) => place === 'flag' && /^--?kubeconfig$/.test(name),
    becomes: () => null,
    because: ({ value }) =>
      value === ''
        ? YOUR_KUBECONFIG
        : `${YOUR_KUBECONFIG}. If the flag names a file for another API server, the controller now works with the wrong one.`,
    isDoubtful: ({ value }) => value !== '',
  },
  {
    // Outside a Pod, controller-runtime fails with "unable to find leader election namespace".
    name: 'leader election',
    looksFor: (setting, { isElectable, electionVariables }) =>
      !isElectable && electionSense(setting, electionVariables) !== undefined,
    becomes: (setting, { electionVariables }) =>
      switched(setting.value, electionSense(setting, electionVariables) === 'inverse'),
    because: () => 'leader election only works in a Pod',
  },
  {
    // Every program can listen on port 0. Only controller-runtime knows the address `0`, which turns a server off.
    name: 'busy port',
    looksFor: isAuxiliary,
    becomes: ({ value }, { busyPorts }) =>
      busyPorts.includes(portOf(value) ?? ANY_PORT) ? withPort(value, ANY_PORT) : undefined,
    because: ({ value }) => `port ${portOf(value)} is in use on this machine`,
  },
  {
    // In a file, paths can be anywhere in the text.
    name: 'mounted path',
    looksFor: ({ name, in: place }) => place !== 'default' && (place !== 'file' || name === ''),
    becomes: ({ value, in: place }, { paths }) => {
      const after = place === 'file' ? rewriteMentions(value, paths) : rewritePaths(value, paths);
      return after === value ? undefined : after;
    },
    because: () => 'on this machine, the mounted files are there',
  },
];

/** Gives the webhooks another port than in the Pod. */
export function webhookPort({ from, port, because }: OtherPort & { from: number }): Rule {
  return {
    name: 'webhook port',
    looksFor: ({ words }) => WEBHOOK.test(words) || (ANY.test(words) && !OTHER.test(words)),
    // A value of a Secret stays.
    becomes: ({ value, shown }) =>
      portOf(value) === from && shown === value ? withPort(value, port) : undefined,
    because: () => because,
    choose(settings) {
      const certain = settings.filter(({ words }) => WEBHOOK.test(words));
      if (certain.length > 0) return certain;
      return settings.length === 1 ? settings : [];
    },
  };
}

/** Whether a setting chooses the address or port of metrics or health checks. */
export function isAuxiliary({ words }: Pick<Setting, 'words'>): boolean {
  return AUXILIARY.test(words);
}

function electionSense(
  { name, in: place }: Setting,
  variables: ReadonlySet<string>,
): 'on' | 'inverse' | undefined {
  return electionSwitch(name) ?? (place === 'variable' && variables.has(name) ? 'on' : undefined);
}

/** What turns things on, and its opposite. */
const SWITCHES = [
  ['true', 'false'],
  ['t', 'f'],
  ['1', '0'],
  ['yes', 'no'],
  ['y', 'n'],
  ['on', 'off'],
  ['enabled', 'disabled'],
  ['enable', 'disable'],
] as const;

/** The value that switches something off (or on), in the style of `value`; undefined if it already is, or if `value` is no switch. */
function switched(value: string, on: boolean): string | undefined {
  const row = SWITCHES.find((words) => words[on ? 1 : 0] === value.toLowerCase());
  if (row === undefined) return undefined;
  const after = row[on ? 0 : 1];
  if (value === value.toUpperCase()) return after.toUpperCase();
  return /^[A-Z]/.test(value) ? after[0]!.toUpperCase() + after.slice(1) : after;
}
