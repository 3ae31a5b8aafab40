import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type * as client from '@kubernetes/client-node';
import { DevloopError, messageOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import {
  base64,
  type CheckedValues,
  checked,
  expectOneOf,
  flag,
  list,
  map,
  optional,
  text,
  texts,
} from './kubeconfig-values.ts';
import { parseYamlDocuments } from './yaml-as-in-go.ts';

/** The entries of a kubeconfig. As in client-go, an absent setting is empty. Paths are absolute. */
export interface Kubeconfig {
  clusters: Cluster[];
  users: User[];
  contexts: Context[];
  currentContext: string;
}

/** With what @kubernetes/client-node does not read. */
export interface Cluster extends Required<client.Cluster> {
  disableCompression: boolean;
  /** What the cluster's entry has for credential plugins. */
  execConfig?: unknown;
}

export type Context = Required<client.Context>;

/** With what @kubernetes/client-node does not read, or has no types for. */
export interface User extends Required<Omit<client.User, 'authProvider' | 'exec'>> {
  tokenFile: string;
  asUid: string;
  asGroups: string[];
  asUserExtra: [name: string, values: string[]][];
  authProvider?: AuthProvider;
  exec?: Exec;
  /** The kubeconfig that contains this entry. */
  file: string;
}

export interface AuthProvider {
  name: string;
  config: Record<string, string>;
}

/** How to run a credential plugin. */
export interface Exec {
  /** A path is absolute; anything else is looked up on the PATH. */
  command: string;
  args: string[];
  env: { name: string; value: string }[];
  apiVersion: string;
  installHint: string;
  provideClusterInfo: boolean;
  interactiveMode: string;
}

const V1BETA1 = 'client.authentication.k8s.io/v1beta1';
/** The extension of a cluster entry that is meant for credential plugins. */
export const FOR_PLUGINS = 'client.authentication.k8s.io/exec';

/** Reads one file. Rejects with `kubeconfig.invalid` where kubectl refuses the file. */
export async function readKubeconfig(file: string): Promise<Kubeconfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  try {
    // kubectl accepts a byte order mark.
    const content = readFileSync(file, 'utf8').replace(/^\ufeff/, '');
    const document = documentOf(parsed(content) ?? {});
    const config = new KubeConfig();
    config.loadFromString(forClient(document));
    config.makePathsAbsolute(dirname(file));
    return completed(config, document, file);
  } catch (error) {
    throw new DevloopError(
      'kubeconfig.invalid',
      `The kubeconfig ${file} cannot be read: ${withoutContent(error)}`,
      { hint: `Check: kubectl --kubeconfig ${shellWord(file)} config view` },
    );
  }
}

function parsed(content: string): unknown {
  // Loading the parser of YAML takes longer than everything else here.
  if (/^\s*\{/.test(content)) {
    try {
      return JSON.parse(content);
    } catch {
      // It may still be YAML.
    }
  }
  const [first] = parseYamlDocuments(content);
  return first;
}

const CLUSTER = {
  server: text,
  'tls-server-name': text,
  'insecure-skip-tls-verify': flag,
  'certificate-authority': text,
  'certificate-authority-data': base64,
  'proxy-url': text,
  'disable-compression': flag,
  extensions: (value: unknown, place: string) => list(value, place).map((entry) => map(entry, place)),
};

const USER = {
  'client-certificate': text,
  'client-certificate-data': base64,
  'client-key': text,
  'client-key-data': base64,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  'as-uid': text,
  'as-groups': texts,
  'as-user-extra': extraOf,
  'auth-provider': optional(providerOf),
  exec: optional(execOf),
};

const CONTEXT = { cluster: text, user: text, namespace: text };

function extraOf(value: unknown, place: string): [string, string[]][] {
  return Object.entries(map(value, place)).map(([name, values]) => [name, texts(values, place)]);
}

function providerOf(value: unknown, place: string): AuthProvider {
  const { name, config } = map(value, place);
  const settings = Object.entries(map(config, `${place}.config`));
  return {
    name: text(name, `${place}.name`),
    config: Object.fromEntries(settings.map(([key, one]) => [key, text(one, `${place}.config.${key}`)])),
  };
}

const EXEC = {
  command: text,
  apiVersion: text,
  args: texts,
  env: (value: unknown, place: string) => list(value, place).map((one) => checked(one, place, VARIABLE)),
  installHint: text,
  provideClusterInfo: flag,
  interactiveMode: text,
};

const VARIABLE = { name: text, value: text };

function execOf(value: unknown, place: string): Exec {
  const exec = checked(value, place, EXEC);
  const mode = exec.apiVersion === V1BETA1 ? 'IfAvailable' : '';
  return { ...exec, interactiveMode: exec.interactiveMode || mode };
}

/** What kubectl would read, after its checks. */
type Document = ReturnType<typeof documentOf>;

function documentOf(value: unknown) {
  const config = map(value, 'the file');
  expectOneOf(text(config.kind, 'kind'), ['', 'Config'], 'kind');
  expectOneOf(text(config.apiVersion, 'apiVersion'), ['', 'v1'], 'apiVersion');
  return {
    currentContext: text(config['current-context'], 'current-context'),
    clusters: named(config, 'clusters', 'cluster', CLUSTER),
    users: named(config, 'users', 'user', USER),
    contexts: named(config, 'contexts', 'context', CONTEXT),
  };
}

/** kubectl refuses a file in which two entries have the same name. */
function named<T extends object>(
  config: Record<string, unknown>,
  key: string,
  inner: string,
  settings: T,
): { name: string; has: CheckedValues<T> }[] {
  const all = list(config[key], key).map((value, index) => {
    const place = `${key}[${index}]`;
    const entry = map(value, place);
    return { has: checked(entry[inner], place, settings), name: text(entry.name, `${place}.name`) };
  });
  const twice = all.find(({ name }, index) => all.findIndex((other) => other.name === name) !== index);
  if (twice) throw new Error(`two of its ${key} are called ${twice.name || "''"}`);
  return all;
}

/** @kubernetes/client-node refuses entries that lack one of these, which kubectl does not, and shortens the server. */
const GIVEN_BACK = 'given-back';

/** As text, since JSON is YAML. */
function forClient({ clusters, users, contexts }: Document): string {
  return JSON.stringify({
    clusters: clusters.map(({ has: { extensions: _, ...has } }) => ({
      name: GIVEN_BACK,
      cluster: { ...has, server: GIVEN_BACK },
    })),
    users: users.map(({ has }) => ({ name: GIVEN_BACK, user: has })),
    contexts: contexts.map(({ has }) => ({ name: GIVEN_BACK, context: { ...has, cluster: GIVEN_BACK } })),
  });
}

/** Adds what @kubernetes/client-node does not read. */
function completed(config: client.KubeConfig, document: Document, file: string): Kubeconfig {
  const absolute = (path: string): string =>
    path === '' || isAbsolute(path) ? path : join(dirname(file), path);
  return {
    currentContext: document.currentContext,
    clusters: config.clusters.map((cluster, index) => {
      const { name, has } = document.clusters[index]!;
      const extension = has.extensions.find((one) => one.name === FOR_PLUGINS)?.extension;
      return {
        ...{ ...filled(cluster), name, server: has.server, disableCompression: has['disable-compression'] },
        ...(extension == null ? {} : { execConfig: extension }),
      };
    }),
    users: config.users.map(({ exec, authProvider, ...user }, index) => {
      const { name, has } = document.users[index]!;
      const command = exec?.command.includes('/') ? absolute(exec.command) : exec?.command;
      return {
        ...{ ...filled(user), name, file, tokenFile: absolute(has.tokenFile) },
        ...{ asUid: has['as-uid'], asGroups: has['as-groups'], asUserExtra: has['as-user-extra'] },
        ...(authProvider == null ? {} : { authProvider }),
        ...(exec == null ? {} : { exec: { ...exec, command } }),
      };
    }),
    contexts: config.contexts.map((context, index) => {
      const { name, has } = document.contexts[index]!;
      return { ...filled(context), name, cluster: has.cluster };
    }),
  };
}

/** As in client-go, an absent setting is empty. */
function filled<T extends object>(entry: T): Required<T> {
  const settings = Object.entries(entry).map(([key, value]) => [key, value ?? '']);
  return Object.fromEntries(settings) as Required<T>;
}

/** The message of a YAML error quotes lines of the file, and may contain part of a token or a key. */
function withoutContent(error: unknown): string {
  const {
    code,
    linePos: [from] = [],
    name,
  } = error as {
    code?: string;
    linePos?: { line: number; col: number }[];
    name?: string;
  };
  if (name !== 'YAMLParseError' || from === undefined) return messageOf(error);
  return `it is not valid YAML: ${code} (line ${from.line}, column ${from.col})`;
}
