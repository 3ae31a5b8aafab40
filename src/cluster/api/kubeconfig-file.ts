import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { DevloopError, messageOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { parseYamlDocuments } from './yaml-as-in-go.ts';

/** The entries of a kubeconfig. As in client-go, an absent setting is empty. Paths are absolute. */
export interface Kubeconfig {
  clusters: Cluster[];
  users: User[];
  contexts: Context[];
  currentContext: string;
}

export interface Cluster {
  name: string;
  server: string;
  tlsServerName: string;
  skipTLSVerify: boolean;
  caFile: string;
  /** base64 */
  caData: string;
  proxyUrl: string;
  disableCompression: boolean;
  /** What the cluster's entry has for credential plugins. */
  execConfig?: unknown;
}

export interface Context {
  name: string;
  cluster: string;
  user: string;
  namespace: string;
}

export interface User {
  name: string;
  certFile: string;
  /** base64 */
  certData: string;
  keyFile: string;
  /** base64 */
  keyData: string;
  token: string;
  tokenFile: string;
  username: string;
  password: string;
  as: string;
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

/** Reads one file. Throws `kubeconfig.invalid` where kubectl refuses the file. */
export function readKubeconfig(file: string): Kubeconfig {
  try {
    // kubectl accepts a byte order mark.
    const text = readFileSync(file, 'utf8').replace(/^\ufeff/, '');
    return entriesOf(parsed(text) ?? {}, file);
  } catch (error) {
    throw new DevloopError(
      'kubeconfig.invalid',
      `The kubeconfig ${file} cannot be read: ${withoutContent(error)}`,
      { hint: `Check: kubectl --kubeconfig ${shellWord(file)} config view` },
    );
  }
}

function parsed(text: string): unknown {
  // Loading the parser of YAML takes longer than everything else here.
  if (/^\s*\{/.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      // It may still be YAML.
    }
  }
  const [first] = parseYamlDocuments(text);
  return first;
}

function entriesOf(value: unknown, file: string): Kubeconfig {
  const config = map(value, 'the file');
  expectOneOf(text(config.kind, 'kind'), ['', 'Config'], 'kind');
  expectOneOf(text(config.apiVersion, 'apiVersion'), ['', 'v1'], 'apiVersion');
  const directory = dirname(file);
  const path = (given: unknown, place: string): string => absolute(text(given, place), directory);
  return {
    currentContext: text(config['current-context'], 'current-context'),
    clusters: named(config, 'clusters', 'cluster', (one, place) => clusterOf(one, place, path)),
    users: named(config, 'users', 'user', (one, place) => ({ ...userOf(one, place, path), file })),
    contexts: named(config, 'contexts', 'context', (one, place) => ({
      cluster: text(one.cluster, `${place}.cluster`),
      user: text(one.user, `${place}.user`),
      namespace: text(one.namespace, `${place}.namespace`),
    })),
  };
}

type Place = (given: unknown, place: string) => string;

function clusterOf(one: Map, place: string, path: Place): Omit<Cluster, 'name'> {
  const at = (key: string): [unknown, string] => [one[key], `${place}.${key}`];
  const extension = list(...at('extensions'))
    .map((entry) => map(entry, `${place}.extensions`))
    .find(({ name }) => name === FOR_PLUGINS);
  return {
    server: text(...at('server')),
    tlsServerName: text(...at('tls-server-name')),
    skipTLSVerify: flag(...at('insecure-skip-tls-verify')),
    caFile: path(...at('certificate-authority')),
    caData: base64(...at('certificate-authority-data')),
    proxyUrl: text(...at('proxy-url')),
    disableCompression: flag(...at('disable-compression')),
    ...(extension?.extension == null ? {} : { execConfig: extension.extension }),
  };
}

function userOf(one: Map, place: string, path: Place): Omit<User, 'name' | 'file'> {
  const at = (key: string): [unknown, string] => [one[key], `${place}.${key}`];
  const extra = Object.entries(map(...at('as-user-extra')));
  return {
    certFile: path(...at('client-certificate')),
    certData: base64(...at('client-certificate-data')),
    keyFile: path(...at('client-key')),
    keyData: base64(...at('client-key-data')),
    token: text(...at('token')),
    tokenFile: path(...at('tokenFile')),
    username: text(...at('username')),
    password: text(...at('password')),
    as: text(...at('as')),
    asUid: text(...at('as-uid')),
    asGroups: texts(...at('as-groups')),
    asUserExtra: extra.map(([name, values]) => [name, texts(values, `${place}.as-user-extra`)]),
    ...(one['auth-provider'] == null ? {} : { authProvider: providerOf(...at('auth-provider')) }),
    ...(one.exec == null ? {} : { exec: execOf(map(...at('exec')), `${place}.exec`, path) }),
  };
}

function providerOf(value: unknown, place: string): AuthProvider {
  const { name, config } = map(value, place);
  const settings = Object.entries(map(config, `${place}.config`));
  return {
    name: text(name, `${place}.name`),
    config: Object.fromEntries(settings.map(([key, one]) => [key, text(one, `${place}.config.${key}`)])),
  };
}

function execOf(one: Map, place: string, path: Place): Exec {
  const at = (key: string): [unknown, string] => [one[key], `${place}.${key}`];
  const command = text(...at('command'));
  const apiVersion = text(...at('apiVersion'));
  return {
    command: command.includes('/') ? path(command, place) : command,
    args: texts(...at('args')),
    env: list(...at('env')).map((entry) => {
      const { name, value } = map(entry, `${place}.env`);
      return { name: text(name, `${place}.env`), value: text(value, `${place}.env`) };
    }),
    apiVersion,
    installHint: text(...at('installHint')),
    provideClusterInfo: flag(...at('provideClusterInfo')),
    interactiveMode: text(...at('interactiveMode')) || (apiVersion === V1BETA1 ? 'IfAvailable' : ''),
  };
}

type Map = Record<string, unknown>;

/** kubectl refuses a file in which two entries have the same name. */
function named<T extends object>(
  config: Map,
  key: string,
  inner: string,
  read: (one: Map, place: string) => T,
): (T & { name: string })[] {
  const all = list(config[key], key).map((value, index) => {
    const place = `${key}[${index}]`;
    const entry = map(value, place);
    return { ...read(map(entry[inner], place), place), name: text(entry.name, `${place}.name`) };
  });
  const twice = all.find(({ name }, index) => all.findIndex((other) => other.name === name) !== index);
  if (twice) throw new Error(`two of its ${key} are called ${twice.name || "''"}`);
  return all;
}

function absolute(path: string, directory: string): string {
  return path === '' || isAbsolute(path) ? path : join(directory, path);
}

function text(value: unknown, place: string): string {
  if (value == null) return '';
  if (typeof value === 'string') return value;
  throw new Error(`${place} is not text`);
}

function flag(value: unknown, place: string): boolean {
  if (value == null) return false;
  if (typeof value === 'boolean') return value;
  throw new Error(`${place} is neither true nor false`);
}

/** Go accepts line breaks in base64, but requires the padding. */
function base64(value: unknown, place: string): string {
  const given = text(value, place).replaceAll(/[\r\n]/g, '');
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(given)) return given;
  throw new Error(`${place} is not base64`);
}

function list(value: unknown, place: string): unknown[] {
  if (value == null) return [];
  if (Array.isArray(value)) return value;
  throw new Error(`${place} is not a list`);
}

function texts(value: unknown, place: string): string[] {
  return list(value, place).map((one) => text(one, place));
}

function map(value: unknown, place: string): Map {
  if (value == null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Map;
  throw new Error(`${place} is not a map`);
}

function expectOneOf(value: string, expected: string[], place: string): void {
  if (!expected.includes(value)) throw new Error(`its ${place} is not ${expected.at(-1)}`);
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
