import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Cluster, KubeConfig } from '@kubernetes/client-node';
import { AGAIN, DevloopError, messageOf } from '../../errors.ts';
import { homeDirectory } from '../../machine/account.ts';
import { shellWord } from '../../phrases.ts';
import { similarNames } from '../../similar.ts';
import { type Pinned, pin, pinnedAgain, withOwnAuthority } from './pinned.ts';

export interface KubeconfigChoice {
  /** A file named by the user. If absent, KUBECONFIG is used, or else ~/.kube/config. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
}

export interface Selected {
  config: KubeConfig;
  context: string;
  server: string;
  /** The kubeconfig's current context; empty if it has none. */
  current: string;
  /** The context's namespace, `default` if it names none. */
  namespace: string;
  /** Absolute paths. Of two entries with the same name, the one in the earlier file is used, as in client-go. */
  files: string[];
  /** What stays as it is, whatever the files say later. */
  pinned: Pinned;
  /**
   * Reads the user's entry again, because a login may have rewritten the files. Credential plugins then run again. Rejects if the files no
   * longer say that this user belongs to the same cluster.
   */
  reload(): Promise<Selected>;
}

/** A kubeconfig with one context, whose cluster and user have the same name. */
export function kubeconfigOf(name: string, cluster: object, user: object): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  };
}

/** Reads the kubeconfig as kubectl does (several files are merged, and the first entry of a name is used) and selects the context. */
export async function loadKubeconfig(
  choice: KubeconfigChoice,
  env: Record<string, string | undefined>,
  cwd: string,
): Promise<Selected> {
  const files = kubeconfigFiles(choice, env, cwd);
  const merged = await merge(files);
  const { config } = merged;
  const current = config.getCurrentContext() ?? '';
  const name = choice.context ?? current;
  selectContext(config, name, choice.context !== undefined, files);
  const cluster = usableCluster(config, files);
  const context = config.getContextObject(name)!;
  const { user, namespace } = context;
  if (namespace !== undefined && typeof namespace !== 'string')
    throw notUsable(name, 'its namespace is not text');
  if (user !== undefined && typeof user !== 'string') throw notUsable(name, 'its user is not text');
  const first = { cluster, context };
  const selectFrom = (read: Merged, pinned: Pinned): Selected => {
    withUser(read, pinned);
    const common = {
      context: name,
      server: cluster.server,
      current,
      namespace: namespace ?? 'default',
      files,
    };
    return { config: read.config, ...common, pinned, reload };
  };
  const reload = async (): Promise<Selected> => {
    const read = await merge(kubeconfigFiles(choice, env, cwd));
    const again = pinnedAgain(read.config, first);
    if (again === undefined) throw new Error(otherCluster(first, read.config));
    return selectFrom(read, again);
  };
  return selectFrom(merged, first);
}

function otherCluster({ cluster: { server }, context: { name } }: Pinned, config: KubeConfig): string {
  const now = config.getCluster(config.getContextObject(name)?.cluster ?? '')?.server ?? 'no server';
  return `The kubeconfig has changed: context ${name} now has ${now}, not ${server} with the same certificate authority, so its user may belong to another cluster.`;
}

/** The cluster of the current context. */
function usableCluster(config: KubeConfig, files: string[]): Cluster {
  const context = config.getCurrentContext();
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) {
    throw new DevloopError(
      'kubeconfig.invalid',
      `Context ${context} names a cluster that is missing or incomplete in the kubeconfig (${files.join(', ')}).`,
      {
        hint: `kubectl config view --context ${shellWord(context)}`,
      },
    );
  }
  if (!/^https?:\/\//.test(cluster.server) || !URL.canParse(cluster.server)) {
    throw new DevloopError(
      'kubeconfig.invalid',
      `The server of context ${context} is not a URL: ${cluster.server} (${files.join(', ')}).`,
      { hint: 'It must start with https:// — kubectl config set-cluster <name> --server https://…' },
    );
  }
  try {
    return withOwnAuthority(cluster);
  } catch (error) {
    throw notUsable(context, `its certificate authority cannot be read: ${messageOf(error)}`);
  }
}

/** Leaves the pinned context and its user in the kubeconfig. */
function withUser({ config, tokenFiles }: Merged, pinned: Pinned): void {
  const { name, user } = pinned.context;
  pin(config, pinned);
  if (user !== undefined && !config.getCurrentUser())
    throw notUsable(name, `its user ${user} is missing or incomplete`);
  const tokenFile = tokenFiles.get(user);
  if (tokenFile !== undefined) Object.assign(config.getCurrentUser()!, { token: readToken(tokenFile, name) });
}

function kubeconfigFiles(
  choice: KubeconfigChoice,
  env: Record<string, string | undefined>,
  cwd: string,
): string[] {
  const named =
    choice.kubeconfig !== undefined
      ? [choice.kubeconfig]
      : (env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '');
  const wanted = named.length > 0 ? named : [join(homeDirectory(env), '.kube', 'config')];
  const files = wanted.map((file) => (isAbsolute(file) ? file : resolve(cwd, file)));
  const found = files.filter((file) => existsSync(file));
  if (found.length === 0) {
    throw new DevloopError('kubeconfig.missing', `There is no kubeconfig at ${files.join(' or ')}.`, {
      hint: ANOTHER,
    });
  }
  return found;
}

const ANOTHER =
  'Name one with --kubeconfig or the variable KUBECONFIG, or let your cluster tool write it (for example: kind export kubeconfig).';

interface Merged {
  config: KubeConfig;
  /** The `tokenFile` of each user, a setting that @kubernetes/client-node does not support. */
  tokenFiles: Map<string, string>;
}

async function merge(files: string[]): Promise<Merged> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const parts = await Promise.all(files.map((file) => readFile(file, new KubeConfig())));
  const firstOf = <T extends { name: string }>(all: T[]): T[] =>
    all.filter(
      (one, index) =>
        typeof one.name === 'string' && all.findIndex((other) => other.name === one.name) === index,
    );
  const merged = new KubeConfig();
  merged.loadFromOptions({
    clusters: firstOf(parts.flatMap(({ config }) => config.clusters)).map(passable),
    users: firstOf(parts.flatMap(({ config }) => config.users)),
    contexts: firstOf(parts.flatMap(({ config }) => config.contexts)),
    currentContext: parts.map(({ config }) => config.getCurrentContext()).find(isText) ?? '',
  });
  return { config: merged, tokenFiles: new Map(parts.toReversed().flatMap((part) => [...part.tokenFiles])) };
}

/** An incomplete entry of another context does not matter to this one. */
const FILTER = { onInvalidEntry: 'filter' } as const;

async function readFile(file: string, config: KubeConfig): Promise<Merged> {
  const tokenFiles = new Map<string, string>();
  try {
    // Reading the file here distinguishes an unreadable file from a broken one. loadFromFile reads it again, since it also resolves the
    // relative paths in it.
    const text = readFileSync(file, 'utf8');
    if (isEmpty(text)) return { config, tokenFiles };
    config.loadFromFile(file, FILTER);
    if (!text.includes('tokenFile')) return { config, tokenFiles };
    const { parse } = await import('yaml');
    for (const { name, user } of parse(text).users ?? [])
      if (isText(user?.tokenFile)) tokenFiles.set(name, resolve(dirname(file), user.tokenFile));
    return { config, tokenFiles };
  } catch (error) {
    throw new DevloopError(
      'kubeconfig.invalid',
      `The kubeconfig ${file} cannot be read: ${withoutContent(error)}`,
      { hint: `Check: kubectl --kubeconfig ${shellWord(file)} config view` },
    );
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Whether the file has no entries, or only comments. Some tools leave such a file when they remove their last entry. */
function isEmpty(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(?:#.*|---|null|~)?\s*$/.test(line));
}

/** The library refuses plain HTTP, which `kubectl proxy` serves, unless certificate verification is off. */
function passable(cluster: Cluster): Cluster {
  return cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster;
}

function readToken(file: string, context: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw notUsable(context, `its tokenFile cannot be read: ${messageOf(error)}`);
  }
}

/** The error for a context that kubectl would refuse, too. */
export function notUsable(context: string, why: string): DevloopError {
  return new DevloopError(
    'kubeconfig.invalid',
    `Context ${context} of the kubeconfig cannot be used: ${why}.`,
    {
      hint: `Check: kubectl --context ${shellWord(context)} config view --minify`,
    },
  );
}

/** The message of a YAML error quotes lines of the file, and its reason may quote a word. Either may contain part of a token or a key. */
function withoutContent(error: unknown): string {
  const { reason, mark } = error as { reason?: string; mark?: { line: number; column: number } };
  if (reason === undefined || mark === undefined) return messageOf(error);
  return `${reason.split(/["!]|: /, 1)[0]!.trim()} (line ${mark.line + 1}, column ${mark.column + 1})`;
}

function selectContext(config: KubeConfig, context: string, asked: boolean, files: string[]): void {
  const known = config.getContexts().map((one) => one.name);
  if (context && known.includes(context)) {
    config.setCurrentContext(context);
    return;
  }
  const list = known.length > 0 ? `Its contexts: ${known.join(', ')}.` : 'It has no contexts.';
  if (asked || context) {
    throw new DevloopError(
      'context.unknown',
      `Context ${context || "''"} is not in the kubeconfig ${files.join(', ')}. ${list}`,
      {
        hint:
          similarNames(context, known)
            .map((one) => `${AGAIN} --context ${shellWord(one)}`)
            .join('\n') || 'kubectl config get-contexts',
      },
    );
  }
  throw new DevloopError(
    'kubeconfig.invalid',
    `The kubeconfig ${files.join(', ')} has no current context. ${list}`,
    {
      hint: known.length === 0 ? ANOTHER : `kubectl config use-context NAME\nOr: ${AGAIN} --context NAME`,
    },
  );
}
