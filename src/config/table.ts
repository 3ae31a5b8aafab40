import { API_CHOICES, CONTROLLER_LOG_CHOICES, ON_TIMEOUT_CHOICES, PAUSE_CHOICES } from './choices.ts';
import { AFTER_DASHES, everywhere, ofUp, planned, running, type SettingFlag } from './flags.ts';
import {
  ADDRESS,
  ALSO_PAUSE,
  FAULT,
  IDENTITY,
  IMAGE,
  JSON_PATH,
  MAIN_PACKAGE,
  NAMESPACE,
  NETWORK,
  OBJECT_NAME,
} from './forms.ts';
import { COMMAND, choice, type Kind, one, oneOrMore, ROUTE, TEXT, TEXTS, upTo, VARIABLES } from './kinds.ts';
import { EXPECTED_ROUTE } from './route-choice.ts';

/** Everything that devloop has to know about one setting. */
export interface Row<T, D extends T | undefined> extends Details<D> {
  kind: Kind<T>;
  /** A phrase for the help, the guide and editors. */
  about: string;
}

interface Details<D> {
  /** A value as it is written in devloop.yaml, for the guide and editors. */
  example: string;
  default?: D;
  /** What applies by default, if that is no value. */
  otherwise?: string;
  /** A sentence for the guide and editors, about devloop.yaml only. */
  more?: string;
  /** The environment variable that sets it. */
  variable?: string;
  flag?: SettingFlag;
  /** The settings of devloop.yaml that do not apply if the flag is given, because it answers the same question. */
  flagReplaces?: readonly string[];
  /** Whether the values of the flag are added to those of devloop.yaml, instead of replacing them. */
  isAdded?: true;
  /** Whether it can apply to one controller only, and so not to several Deployments at once. */
  isOfOneController?: true;
  /** Whether its values may be secrets, which devloop does not print. */
  isSecret?: true;
}

function row<T, const D extends T | undefined = undefined>(
  kind: Kind<T>,
  about: string,
  details: Details<D>,
): Row<T, D> {
  return { kind, about, ...details };
}

/**
 * All settings, each by its place in devloop.yaml. From this table come the flags with their help and completion, the validation of
 * devloop.yaml, the merged values, the types, the JSON Schema and the table in the guide.
 */
export const SETTINGS = {
  context: row(TEXT, 'kubeconfig context to use', {
    example: 'kind-dev',
    variable: 'DEVLOOP_CONTEXT',
    flag: everywhere('--context <name>'),
  }),
  allowContexts: row(TEXTS, 'the only contexts in which devloop is to be used', {
    example: '[kind-dev]',
    otherwise: 'all',
  }),
  namespace: row(one(NAMESPACE), 'namespace of the operator', {
    example: 'my-system',
    variable: 'DEVLOOP_NAMESPACE',
    flag: everywhere('-n, --namespace <name>'),
  }),
  service: row(oneOrMore(OBJECT_NAME), 'webhook Service', {
    example: 'my-system/webhook-service',
    flag: everywhere('--service <[ns/]name>'),
    isOfOneController: true,
  }),
  deployment: row(one(OBJECT_NAME), 'Deployment, StatefulSet or DaemonSet of the operator', {
    example: 'my-system/controller-manager',
    flag: { ...everywhere('--deployment <[ns/]name>'), severalFor: 'up' },
  }),
  onTimeout: row(
    choice(ON_TIMEOUT_CHOICES),
    'how to answer reviews that the controller does not answer in time: with an error (fail), or a verdict',
    {
      example: 'fail',
      default: 'fail',
      flag: ofUp('--on-timeout <answer>', 'reviews'),
    },
  ),
  api: row(
    choice(API_CHOICES),
    "how the controller reaches the API server: through devloop's API proxy, or by itself",
    { example: 'proxy', default: 'proxy', flag: ofUp('--api <how>', 'controller') },
  ),
  identity: row(
    one(IDENTITY),
    "as whom the controller calls the API server: the manager's ServiceAccount, you (me), or another ServiceAccount",
    {
      example: 'me',
      otherwise: 'serviceaccount for a program that devloop builds, me for a command',
      flag: running('--identity <who>'),
    },
  ),
  faults: row(
    oneOrMore(FAULT),
    "what is to go wrong with the controller's calls and its reviews (see `fault`)",
    {
      example: "['409 update deployments share=50%']",
      flag: ofUp('--fault <fault>', 'controller'),
      isAdded: true,
    },
  ),
  redact: row(
    oneOrMore(JSON_PATH),
    'also replace the values at this path before a review is recorded, such as .spec.card.number',
    {
      example: '.spec.card.number',
      otherwise: 'only what looks secret',
      flag: ofUp('--redact <jsonpath>', 'reviews'),
      isAdded: true,
    },
  ),
  pause: row(
    choice(PAUSE_CHOICES),
    'pause the in-cluster manager according to the owner of its Pods (auto), by its leader Lease, or not at all',
    { example: 'auto', default: 'auto', flag: planned('--pause <how>', 'takeOver') },
  ),
  alsoPause: row(
    oneOrMore(ALSO_PAUSE),
    'Deployment to pause, too, because it would overwrite what devloop changes; none: pause no other',
    {
      example: '[my-hub/operator]',
      more: 'For those that devloop.yaml names, `up` asks once.',
      flag: planned('--also-pause <ns/name>', 'takeOver'),
    },
  ),
  route: row(ROUTE, `route from the cluster to this machine: ${EXPECTED_ROUTE}`, {
    example: 'direct',
    default: 'auto',
    flag: planned('--route <route>', 'route'),
  }),
  address: row(one(ADDRESS), 'address of this machine, or of the SSH host, for the cluster to call', {
    example: '192.168.1.20',
    flag: planned('--address <ip>', 'route'),
  }),
  port: row(upTo(65_535), 'port for the cluster to call', {
    example: '30443',
    otherwise: 'any free one',
    flag: planned('--port <n>', 'route'),
    isOfOneController: true,
  }),
  allowFrom: row(oneOrMore(NETWORK), 'network that is allowed to connect to that port', {
    example: '10.0.0.0/8',
    otherwise: 'all',
    flag: planned('--allow-from <cidr>', 'route'),
  }),
  relayImage: row(one(IMAGE), 'image for the relay Pod; it must contain Node 20 or newer', {
    example: 'registry.example.com/node:24-alpine',
    flag: planned('--relay-image <image>', 'route'),
  }),
  'certificates.secret': row(
    one(OBJECT_NAME),
    'Secret with the key pair, in the namespace of the webhook Service',
    { example: 'webhook-server-cert' },
  ),
  'certificates.directory': row(TEXT, 'directory to which the key pair is written', {
    example: '/tmp/k8s-webhook-server/serving-certs',
    otherwise: 'where controller-runtime looks',
    more: "`up` keeps its own controller's key pair in the session's directory.",
    flag: { spelled: '--output <dir>', of: ['certs'] },
  }),
  'controller.package': row(
    one(MAIN_PACKAGE),
    "the controller's main package or program, such as ./cmd/manager or src/main.py",
    {
      example: './cmd/manager',
      otherwise: 'discovered',
      flag: { ...running('--package <dir>'), of: ['up', 'plan', 'doctor'] },
      flagReplaces: ['controller.run', 'controller.build'],
      isOfOneController: true,
    },
  ),
  'controller.build': row(COMMAND, 'builds the controller; needs `run`', {
    example: 'cargo build',
    otherwise: 'go build or cargo build, as discovered',
    more: 'Plain words and quotes, or a list of words.',
    isOfOneController: true,
  }),
  'controller.generate': row(COMMAND, 'runs before each build, for code and manifests that are generated', {
    example: 'make manifests generate',
    otherwise: 'none',
    more: 'It runs in the directory of devloop.yaml; if it fails, so does the build.',
    isOfOneController: true,
  }),
  'controller.run': row(COMMAND, 'runs the controller', {
    example: 'target/debug/my-operator --verbose',
    otherwise: 'the built program',
    more: "`{args}` stands for the Deployment's arguments, which are not added otherwise.",
    flag: { spelled: AFTER_DASHES, of: ['up'] },
    flagReplaces: ['controller.package'],
    isOfOneController: true,
  }),
  'controller.watch': row(TEXTS, 'what to watch', {
    example: '[src, Cargo.toml]',
    otherwise: 'the sources of a Go package; for other programs, the whole checkout',
  }),
  'controller.env': row(VARIABLES, "environment variables, added to the Deployment's", {
    example: '{ RUST_LOG: debug }',
    otherwise: 'none',
    more: 'These take precedence, and any name is allowed.',
    isSecret: true,
  }),
  'controller.log': row(
    choice(CONTROLLER_LOG_CHOICES),
    "which lines of the controller's log to show: all, warnings and errors, or none",
    {
      example: 'all',
      default: 'warnings',
      more: 'With `--json`, all lines are printed unless the flag is given.',
      flag: ofUp('--controller-log <lines>', 'controller'),
    },
  ),
  'controller.readySeconds': row(upTo(3600), 'how long it can take to answer on its webhook port', {
    example: '300',
    default: 120,
  }),
  'controller.graceSeconds': row(
    upTo(3600),
    'how long it can take to end after SIGTERM, before devloop kills it at a restart',
    { example: '2', default: 10 },
  ),
};

export type Key = keyof typeof SETTINGS;

/** The value of a setting. */
export type Value<K extends Key> = (typeof SETTINGS)[K]['kind'] extends Kind<infer T> ? T : never;

type InSection = Extract<Key, `${string}.${string}`>;
type SectionName = InSection extends `${infer Name}.${string}` ? Name : never;

/** The settings of one section, as devloop.yaml nests them. */
export type Section<Name extends SectionName> = {
  [K in InSection as K extends `${Name}.${infer Inner}` ? Inner : never]?: Value<K>;
};

/** The content of devloop.yaml. */
export type Config = { [K in Exclude<Key, InSection>]?: Value<K> } & {
  [Name in SectionName]?: Section<Name>;
};

export const KEYS = Object.keys(SETTINGS) as Key[];

/** The names of the settings and sections in a section (`controller.`); '' is the whole file. */
export function namesIn(section: string): string[] {
  const inside = KEYS.filter((key) => key.startsWith(section)).map((key) => key.slice(section.length));
  return [...new Set(inside.map((rest) => rest.split('.', 1)[0]!))];
}

/** What somebody has set. */
export type Given = { [K in Key]?: Value<K> };

/** The row of any setting, for code that is the same for all. */
export function rowOf(key: Key): Row<unknown, unknown> {
  return SETTINGS[key];
}

/** The value of the setting in devloop.yaml. */
export function valueIn<K extends Key>(config: Config, key: K): Value<K> | undefined {
  const [name = '', inner] = key.split('.');
  const value: unknown = config[name as keyof Config];
  return (inner === undefined ? value : (value as Record<string, unknown> | undefined)?.[inner]) as
    | Value<K>
    | undefined;
}
