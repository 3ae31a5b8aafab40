import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { AGAIN, DevloopError, messageOf } from '../../errors.ts';
import { homeDirectory } from '../../machine/account.ts';
import { shellWord } from '../../phrases.ts';
import { similarNames } from '../../similar.ts';
import { inClusterConfig } from './in-cluster.ts';
import { problemsOf } from './kubeconfig-checks.ts';
import { type Cluster, type Context, type Kubeconfig, readKubeconfig, type User } from './kubeconfig-file.ts';
import { NOBODY } from './nobody.ts';
import { type PinnedEntries, pinnedAgain, withOwnAuthority } from './pinned.ts';

type Env = Record<string, string | undefined>;

export interface KubeconfigChoice {
  /** A file named by the user. If absent, KUBECONFIG is used, or else ~/.kube/config. */
  kubeconfig?: string;
  context?: string;
}

export interface SelectedContext {
  context: string;
  /** A URL. */
  server: string;
  /** The kubeconfig's current context; empty if it has none. */
  current: string;
  user: User;
  /** The context's namespace, `default` if it names none. */
  namespace: string;
  /** Absolute paths. Of two entries with the same name, the one in the earlier file is used, as in client-go. Empty in a Pod. */
  files: string[];
  /** What stays as it is, whatever the files say later. */
  pinned: PinnedEntries;
  /** The variables of proxies, of the system's certificates and of credential plugins. */
  env: Env;
  /**
   * Reads the user's entry again, because a login may have rewritten the files. Credential plugins then run again. Rejects if the files no
   * longer say that this user belongs to the same cluster.
   */
  reload(): Promise<SelectedContext>;
}

/** A kubeconfig with one context, whose cluster and user have the same name. */
export function kubeconfigOf(name: string, cluster: object, user: object, namespace = ''): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace ? { namespace } : {}) } }],
  };
}

/**
 * Reads the kubeconfig as kubectl does (several files are merged, and the first entry of a name is used) and selects the context. Without any
 * kubeconfig, a Pod's ServiceAccount is used.
 */
export async function loadKubeconfig(
  choice: KubeconfigChoice,
  env: Env,
  cwd: string,
): Promise<SelectedContext> {
  const first = await read(choice, env, cwd);
  const { files } = first;
  const { cluster, context } = select(first.config, choice.context, files);
  const server = urlOf(context.name, cluster, files);
  const userFrom = ({ config }: Read, own: Cluster, { name, user }: Context): User => {
    const found = config.users.find((one) => one.name === user);
    if (found === undefined && user !== '') throw notUsable(name, `its user ${user} is missing`);
    const problems = problemsOf({ ...own, server }, found ?? NOBODY);
    if (problems.length > 0) throw notUsable(name, problems.join('; '));
    return found ?? NOBODY;
  };
  const user = userFrom(first, cluster, context);
  const pinned = { cluster: ownCluster(context.name, cluster), context };
  const reload = async (): Promise<SelectedContext> => {
    const again = await read(choice, env, cwd);
    const same = pinnedAgain(again.config, pinned);
    if (same === undefined) throw new Error(otherCluster(pinned, again.config));
    return { ...selected, pinned: same, user: userFrom(again, same.cluster, same.context) };
  };
  const selected = {
    ...{ context: context.name, current: first.config.currentContext, server, pinned, user },
    ...{ namespace: context.namespace || 'default', files, env, reload },
  };
  return selected;
}

/** The names of all contexts. */
export async function contextNames(choice: KubeconfigChoice, env: Env, cwd: string): Promise<string[]> {
  return (await read(choice, env, cwd)).config.contexts.map(({ name }) => name);
}

interface Read {
  config: Kubeconfig;
  files: string[];
}

async function read(choice: KubeconfigChoice, env: Env, cwd: string): Promise<Read> {
  const wanted = wantedFiles(choice, env, cwd);
  const files = wanted.filter((file) => existsSync(file));
  const config = merge(await Promise.all(files.map(readKubeconfig)));
  const isMissing = !!choice.kubeconfig && files.length === 0;
  const pod =
    isUnset(config) && !isMissing && choice.context === undefined ? await inClusterConfig(env) : undefined;
  if (pod !== undefined) return { config: pod, files: [] };
  if (files.length > 0) return { config, files };
  throw new DevloopError('kubeconfig.missing', `There is no kubeconfig at ${wanted.join(' or ')}.`, {
    hint: ANOTHER,
  });
}

function otherCluster(
  { cluster, context: { name } }: PinnedEntries,
  { contexts, clusters }: Kubeconfig,
): string {
  const other = contexts.find((one) => one.name === name)?.cluster;
  const now = clusters.find((one) => one.name === other)?.server || 'no server';
  return `The kubeconfig has changed: context ${name} now has ${now}, not ${cluster.server} with the same certificate authority, so its user may belong to another cluster.`;
}

function ownCluster(context: string, cluster: Cluster): Cluster {
  try {
    return withOwnAuthority(cluster);
  } catch (error) {
    throw notUsable(context, `its certificate authority cannot be read: ${messageOf(error)}`);
  }
}

/** The file that is used if nobody names one. */
export function defaultKubeconfig(env: Env): string {
  return join(homeDirectory(env), '.kube', 'config');
}

function wantedFiles(choice: KubeconfigChoice, env: Env, cwd: string): string[] {
  const named = choice.kubeconfig ? [choice.kubeconfig] : (env.KUBECONFIG ?? '').split(delimiter);
  const isNamed = choice.kubeconfig || env.KUBECONFIG;
  const wanted = isNamed ? named.filter((file) => file !== '') : [defaultKubeconfig(env)];
  return [...new Set(wanted.map((file) => (isAbsolute(file) ? file : resolve(cwd, file))))];
}

const ANOTHER =
  'Name one with --kubeconfig or the variable KUBECONFIG, or let your cluster tool write it (for example: kind export kubeconfig).';

function merge(parts: Kubeconfig[]): Kubeconfig {
  const firstOf = <T extends { name: string }>(all: T[]): T[] =>
    all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
  return {
    clusters: firstOf(parts.flatMap(({ clusters }) => clusters)),
    users: firstOf(parts.flatMap(({ users }) => users)),
    contexts: firstOf(parts.flatMap(({ contexts }) => contexts)),
    currentContext: parts.map(({ currentContext }) => currentContext).find((name) => name !== '') ?? '',
  };
}

/** Whether kubectl takes the kubeconfig for one that configures nothing. */
function isUnset({ currentContext }: Kubeconfig): boolean {
  return currentContext === '';
}

function select(config: Kubeconfig, asked: string | undefined, files: string[]): PinnedEntries {
  // An empty name is not taken for none: in a script, it comes from a variable that is not set.
  const name = asked ?? config.currentContext;
  const context = config.contexts.find((one) => one.name === name);
  if (name === '' || context === undefined) throw noContext(config, name, asked !== undefined, files);
  const cluster = config.clusters.find((one) => one.name === context.cluster);
  if (cluster?.server) return { cluster, context };
  throw new DevloopError(
    'kubeconfig.invalid',
    `Context ${name} names a cluster that is missing or incomplete in the kubeconfig (${files.join(', ')}).`,
    { hint: `kubectl config view --context ${shellWord(name)}` },
  );
}

/** As in kubectl, plain HTTP if there is no scheme. */
function urlOf(context: string, { server }: Cluster, files: string[]): string {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(server);
  const url = hasScheme ? server : `http://${server}`;
  if (
    /^https?:\/\/[^/\s]\S*$/i.test(url) &&
    URL.canParse(url) &&
    (hasScheme || new URL(url).pathname === '/')
  )
    return url;
  throw new DevloopError(
    'kubeconfig.invalid',
    `The server of context ${context} is not a URL: ${server} (${files.join(', ')}).`,
    { hint: 'It must start with https:// — kubectl config set-cluster <name> --server https://…' },
  );
}

/** What the paths of the API are appended to. Without the user and the query, and as in Go, slashes that follow each other count as one. */
export function baseUrl({ server }: Pick<SelectedContext, 'server'>): URL {
  const { origin, pathname } = new URL(server);
  return new URL(pathname.replaceAll(/\/{2,}/g, '/'), origin);
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

function noContext(config: Kubeconfig, context: string, asked: boolean, files: string[]): DevloopError {
  const known = config.contexts.map((one) => one.name);
  const list = known.length > 0 ? `Its contexts: ${known.join(', ')}.` : 'It has no contexts.';
  if (asked || context !== '') {
    const similar = similarNames(context, known).map((one) => `${AGAIN} --context ${shellWord(one)}`);
    return new DevloopError(
      'context.unknown',
      `Context ${context || "''"} is not in the kubeconfig ${files.join(', ')}. ${list}`,
      { hint: similar.join('\n') || 'kubectl config get-contexts' },
    );
  }
  return new DevloopError(
    'kubeconfig.invalid',
    `The kubeconfig ${files.join(', ')} has no current context. ${list}`,
    {
      hint: known.length === 0 ? ANOTHER : `kubectl config use-context NAME\nOr: ${AGAIN} --context NAME`,
    },
  );
}
