import type { ProxySettings } from './proxies.ts';
import type { RecorderSettings } from './recorder.ts';

/**
 * One way to log in. In every text, `@DIR@` is the directory of the situation, `@HOST@` and `@PORT@` the recording server, `@PROXY@` the
 * port of the proxy, `@PEM:name@` a certificate, and `@KEY:name@` its key (`PEM64` and `KEY64`: as base64, `PEMJSON` and `KEYJSON`: within a JSON text). The home directory is
 * `home`, the current one is `work`, and the PATH begins with `bin`.
 */
export interface Situation {
  name: string;
  /** An object is written as JSON. A script (`#!`) is executable; `-> x` is a symbolic link. */
  files: Record<string, string | object>;
  env?: Record<string, string>;
  args?: string[];
  server?: Omit<RecorderSettings, 'pair'> & { certificate?: string; plain?: boolean; chainOf?: string };
  proxy?: Omit<ProxySettings, 'pair'> & { certificate?: string };
  /** Whether stdin and stderr are a terminal. */
  terminal?: boolean;
}

export interface Outcome {
  /** `ok`, or the class of the failure. */
  result: string;
  /** What the API server saw; the same request twice counts once. */
  server: string[];
  proxy: string[];
  /** How often which plugin ran, and with what. */
  plugins: string[];
  /** The tokens of an auth-provider that the kubeconfig has afterwards. */
  tokens: string[];
}

type Parts = { cluster?: object; user?: object | undefined; context?: object; more?: object };

export const SERVER = 'https://@HOST@:@PORT@';
export const CLUSTER = { server: SERVER, 'certificate-authority-data': '@PEM64:ca@' };
export const TOKEN = { token: 'first' };

/** A kubeconfig with one context. The default cluster has the right CA, and the default user a token. */
export function config({ cluster = CLUSTER, user = TOKEN, context = {}, more = {} }: Parts = {}): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'one' },
    contexts: [{ name: 'one', context: { cluster: 'c', user: 'u', ...context } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    ...more,
  };
}

export const HOME_CONFIG = 'home/.kube/config';

/** A situation with a usual kubeconfig, but for these parts. */
export function usual(name: string, parts: Parts, more: Partial<Situation> = {}): Situation {
  return { name, ...more, files: { [HOME_CONFIG]: config(parts), ...more.files } };
}

export const V1 = 'client.authentication.k8s.io/v1';
export const V1BETA1 = 'client.authentication.k8s.io/v1beta1';

/** A credential plugin that writes down how it was called, and prints the text. */
export function pluginThatPrints(text: string | object, also = ''): string {
  const printed = typeof text === 'string' ? text : JSON.stringify(text);
  return `#!/bin/sh
info=$(printf %s "$KUBERNETES_EXEC_INFO")
echo "\${0#@DIR@/} [$*] in \${PWD#@DIR@/} info=$info extra=$EXTRA" >> @DIR@/plugins
${also}
cat <<'END'
${printed}
END
`;
}

export function credential(status: object | undefined, apiVersion = V1): object {
  return { apiVersion, kind: 'ExecCredential', ...(status === undefined ? {} : { status }) };
}

export const PLUGIN = pluginThatPrints(credential({ token: 'of-plugin' }));
export const EXEC = { apiVersion: V1, command: '@DIR@/bin/login', interactiveMode: 'Never' };
