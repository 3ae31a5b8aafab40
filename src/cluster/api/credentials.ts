import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { DevloopError, messageOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { type PluginCredential, PluginError, type PluginHost, runPlugin } from './credential-plugin.ts';
import { unauthorizedError } from './errors.ts';
import { headerName, headerValue, isText } from './header.ts';
import { notUsable, type SelectedContext } from './kubeconfig.ts';
import type { Exec, User } from './kubeconfig-file.ts';
import { idToken } from './oidc.ts';
import { KubercError } from './plugin-policy.ts';
import { createPatience, kubeconfigState } from './renewal-patience.ts';
import type { Identity } from './tls-options.ts';

/** The user may have to log in with a browser. Without a limit, a session that needs new credentials could not end. */
const LONGEST_LOGIN_MS = 300_000;

/** What a request says about the user. */
export interface Credential extends Identity {
  headers: Record<string, string | string[]>;
  /** When a plugin says that it expires, in milliseconds since 1970. */
  expiresAt?: number;
}

export interface Credentials {
  readonly current: Credential;
  /** Whether the current ones have expired since devloop got them. */
  hasExpired(): boolean;
  /** Replaces the rejected credentials, unless another call has just done so. Rejects with `cluster.unauthorized` if that fails. */
  renew(rejected: Credential): Promise<void>;
  /** The current ones were accepted. */
  accepted(): void;
  /** The error for credentials that were rejected although they had just been renewed. */
  rejection(): DevloopError;
  /** The user asks for another login: the next rejection is followed by one, whatever happened before. */
  retryNow(): void;
}

/** Creates credentials once for many calls, because running a plugin can take a second. */
export async function createCredentials(
  first: SelectedContext,
  host: PluginHost = {},
  limitMs = LONGEST_LOGIN_MS,
): Promise<Credentials> {
  let selected = first;
  const patience = createPatience();
  const logIn = async (): Promise<Credential> => {
    // Most plugins that use a terminal if there is one, need none.
    const end = patience.begin(selected.user.exec?.interactiveMode === 'Always');
    try {
      return await authenticate(selected, host, limitMs);
    } finally {
      end(kubeconfigState(first.files));
    }
  };
  let current = await logIn();
  let gotAt = Date.now();
  let renewing: Promise<void> | undefined;
  /** Those that were rejected although they had just been renewed. */
  let failed: Credential | undefined;
  const renewOnce = async (): Promise<void> => {
    if (!patience.allows(kubeconfigState(first.files))) throw unauthorizedError(selected);
    try {
      // Only a reload of the kubeconfig finds a new login of the user.
      selected = await first.reload();
      const again = await logIn();
      current = again;
      gotAt = Date.now();
    } catch (error) {
      patience.failed();
      throw isUnauthorized(error) ? error : unauthorizedError(selected, error);
    }
  };
  return {
    get current() {
      return current;
    },
    hasExpired: () => {
      const { expiresAt } = current;
      // A plugin whose credentials have always expired runs again only when they are rejected.
      return expiresAt !== undefined && expiresAt > gotAt && expiresAt < Date.now();
    },
    async renew(rejected) {
      if (current !== rejected) return;
      renewing ??= renewOnce().finally(() => (renewing = undefined));
      await renewing;
    },
    accepted: () => patience.worked(),
    rejection() {
      // Calls that are rejected at the same time are one failure: each would double the pause.
      if (failed !== current) patience.failed();
      failed = current;
      return unauthorizedError(selected);
    },
    retryNow: () => patience.reset(),
  };
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof DevloopError && error.code === 'cluster.unauthorized';
}

async function authenticate(
  selected: SelectedContext,
  host: PluginHost,
  limitMs: number,
): Promise<Credential> {
  const { user, server, context } = selected;
  const impersonation = impersonate(user);
  // As in kubectl, credentials are not sent without TLS.
  if (new URL(server).protocol === 'http:') return { headers: impersonation };
  const identity = identityOf(user, context);
  const authorization = staticAuthorization(selected);
  const given: Credential = { headers: { ...authorization, ...impersonation }, ...identity };
  if (authorization !== undefined || identity.cert !== undefined) return given;
  if (user.exec !== undefined) {
    const { token, certificate, key, expiresAt } = await fromPlugin(selected, user.exec, host, limitMs);
    return {
      headers: { ...(token === '' ? {} : bearer(token)), ...impersonation },
      ...(certificate === '' ? {} : { cert: certificate, key }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    };
  }
  if (user.authProvider !== undefined) {
    const token = await idToken(selected, user.authProvider).catch((error) => {
      throw error instanceof DevloopError ? error : unauthorizedError(selected, error);
    });
    const headers = bearer(token);
    return { ...given, headers: { ...headers, ...impersonation } };
  }
  throw notUsable(context, 'its user has no credentials');
}

function staticAuthorization({ user, context, server }: SelectedContext): Record<string, string> | undefined {
  const ofUrl = new URL(server);
  const token = tokenOf(user, context);
  // Go prefers a user in the address, but does not count it as a login.
  if (ofUrl.username !== '' && (token !== '' || user.username !== ''))
    return basic(decodeURIComponent(ofUrl.username), decodeURIComponent(ofUrl.password));
  if (token !== '') return bearer(token);
  if (user.username === '') return undefined;
  return basic(user.username, user.password);
}

function basic(name: string, password: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

/** As in kubectl, the file comes first, but the token is used while the file cannot be read. */
function tokenOf({ token, tokenFile }: User, context: string): string {
  if (tokenFile === '') return token;
  try {
    const read = readFileSync(tokenFile, 'utf8').trim();
    if (!isText(read)) throw new Error('it contains a line break');
    return read || token;
  } catch (error) {
    if (token !== '') return token;
    throw notUsable(context, `its tokenFile cannot be read: ${messageOf(error)}`);
  }
}

export function bearer(token: string): Record<string, string> {
  return { Authorization: headerValue(`Bearer ${token}`) };
}

function identityOf({ certFile, certData, keyFile, keyData }: User, context: string): Identity {
  const read = (data: string, file: string): string => {
    if (data !== '') return Buffer.from(data, 'base64').toString();
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw notUsable(context, `a file of its user cannot be read: ${messageOf(error)}`);
    }
  };
  if (certFile === '' && certData === '') return {};
  return { cert: read(certData, certFile), key: read(keyData, keyFile) };
}

function impersonate({ impersonateUser, asUid, asGroups, asUserExtra }: User): Credential['headers'] {
  if (impersonateUser === '') return {};
  const extra = asUserExtra.map(([name, values]) => [
    `Impersonate-Extra-${headerName(name)}`,
    values.map(headerValue),
  ]);
  return {
    'Impersonate-User': headerValue(impersonateUser),
    ...(asUid === '' ? {} : { 'Impersonate-Uid': headerValue(asUid) }),
    ...(asGroups.length === 0 ? {} : { 'Impersonate-Group': asGroups.map(headerValue) }),
    ...Object.fromEntries(extra),
  };
}

async function fromPlugin(
  selected: SelectedContext,
  exec: Exec,
  host: PluginHost,
  limitMs: number,
): Promise<PluginCredential> {
  const signal = AbortSignal.timeout(limitMs);
  try {
    const cluster = exec.provideClusterInfo ? clusterInfo(selected) : {};
    const got = await runPlugin({ exec, cluster, env: selected.env, host, signal });
    if (got.certificate !== '') assertPair(got);
    return got;
  } catch (error) {
    if (error instanceof KubercError) throw kubercInvalid(error);
    if (!signal.aborted && !(error instanceof PluginError)) throw error;
    const why = signal.aborted ? `which has not answered within ${limitMs / 1000} s` : messageOf(error);
    throw pluginError(selected, exec, why, error);
  }
}

function kubercInvalid({ file, message }: KubercError): DevloopError {
  return new DevloopError('kubeconfig.invalid', `kubectl refuses its settings in ${file}: ${message}.`, {
    hint: 'Correct that file, or set KUBERC=off to ignore it.',
  });
}

function assertPair({ certificate, key }: PluginCredential): void {
  try {
    createSecureContext({ cert: certificate, key });
  } catch {
    throw new PluginError('whose client certificate or key cannot be used');
  }
}

/** `spec.cluster` of KUBERNETES_EXEC_INFO. */
function clusterInfo(selected: SelectedContext): object {
  const { cluster } = selected.pinned;
  const { caData, tlsServerName, skipTLSVerify, proxyUrl, disableCompression, execConfig } = cluster;
  return {
    server: serverForPlugins(cluster.server),
    ...(tlsServerName === '' ? {} : { 'tls-server-name': tlsServerName }),
    ...(skipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(caData === '' ? {} : { 'certificate-authority-data': caData }),
    ...(proxyUrl === '' ? {} : { 'proxy-url': proxyUrl }),
    ...(disableCompression ? { 'disable-compression': true } : {}),
    config: execConfig ?? null,
  };
}

/** As client-go prepares it: without a query, if there is a path. */
function serverForPlugins(server: string): string {
  if (!URL.canParse(server) || new URL(server).pathname.length <= 1) return server;
  return server.replace(/\?.*$/, '');
}

/** The kubeconfig can contain a hint on how to install the plugin. */
function pluginError({ context }: SelectedContext, exec: Exec, why: string, cause: unknown): DevloopError {
  const isMissing = cause instanceof PluginError && cause.isMissing;
  const hint = isMissing ? exec.installHint.trim() : '';
  return new DevloopError(
    'cluster.unauthorized',
    `The kubeconfig logs in to context ${context} with the program ${exec.command}, ${why}.`,
    { hint: hint || `Check: kubectl --context ${shellWord(context)} auth whoami`, cause },
  );
}
