import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isMap, isSeq, parseDocument } from 'yaml';
import { messageOf } from '../../errors.ts';
import { replaceTextFile } from '../../machine/text-file.ts';
import { boundedText, TooLong } from './bounded-text.ts';
import { openConnections } from './connections.ts';
import { notUsable, type SelectedContext } from './kubeconfig.ts';
import type { AuthProvider } from './kubeconfig-file.ts';
import { withOwnAuthority } from './pinned.ts';

/** A token counts as expired this early, as in Go. */
const EARLY_MS = 10_000;
const LONGEST_MS = 30_000;

/**
 * The id-token of the auth-provider `oidc`, the only one that kubectl still has. If it has expired, it is refreshed, and the new tokens are
 * written to the kubeconfig, because a refresh token can often be used only once.
 */
export async function idToken(selected: SelectedContext, { name, config }: AuthProvider): Promise<string> {
  const { context } = selected;
  if (name !== 'oidc')
    throw notUsable(context, `its auth-provider is ${name || "''"}, which kubectl no longer has`);
  for (const setting of ['idp-issuer-url', 'client-id'])
    if (!config[setting]) throw notUsable(context, `its auth-provider has no ${setting}`);
  const { 'id-token': token = '', 'refresh-token': refreshToken = '' } = config;
  if (token !== '' && expiryOf(token) > Date.now() + EARLY_MS) return token;
  if (refreshToken === '') throw new Error('the id-token has expired, and there is no refresh-token');
  const got = await refreshed(selected, config, refreshToken);
  if (typeof got.id_token !== 'string') throw new Error('the token response contains no id_token');
  const newer = typeof got.refresh_token === 'string' ? got.refresh_token : refreshToken;
  await persist(selected, { 'id-token': got.id_token, 'refresh-token': newer });
  return got.id_token;
}

/** In milliseconds since 1970. */
function expiryOf(token: string): number {
  const [, payload, ...rest] = token.split('.');
  try {
    if (payload === undefined || rest.length !== 1) throw new Error('it does not have three parts');
    return Number(JSON.parse(Buffer.from(payload, 'base64url').toString()).exp) * 1000;
  } catch {
    throw new Error('the id-token is not a JWT');
  }
}

type Config = AuthProvider['config'];

async function refreshed(
  selected: SelectedContext,
  config: Config,
  refreshToken: string,
): Promise<Record<string, unknown>> {
  const issuer = config['idp-issuer-url']!.replace(/\/$/, '');
  const { token_endpoint: endpoint } = await ask(
    selected,
    config,
    `${issuer}/.well-known/openid-configuration`,
  );
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint))
    throw new Error(`${issuer} names no token_endpoint`);
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const { 'client-id': id = '', 'client-secret': secret = '' } = config;
  const basic = Buffer.from([id, secret].map(encodeURIComponent).join(':')).toString('base64');
  try {
    return await ask(selected, config, endpoint, { form, authorization: `Basic ${basic}` });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // Some issuers expect the client's id and secret here.
    const client = { client_id: id, ...(secret === '' ? {} : { client_secret: secret }) };
    return await ask(selected, config, endpoint, { form: { ...form, ...client } });
  }
}

class Refusal extends Error {}

interface Post {
  form: Record<string, string>;
  authorization?: string;
}

async function ask(
  selected: SelectedContext,
  config: Config,
  address: string,
  post?: Post,
): Promise<Record<string, unknown>> {
  const url = new URL(address);
  const cluster = withOwnAuthority({
    ...{ ...selected.pinned.cluster, proxyUrl: '', tlsServerName: '', skipTLSVerify: false },
    caFile: config['idp-certificate-authority'] ?? '',
    caData: config['idp-certificate-authority-data'] ?? '',
  });
  const pinned = { ...selected.pinned, cluster };
  const { single } = openConnections({ ...selected, pinned, server: address }, {});
  const { form, ...headers } = post ?? {};
  const request = (url.protocol === 'http:' ? httpRequest : httpsRequest)(url, {
    ...{ agent: single, signal: AbortSignal.timeout(LONGEST_MS), method: form ? 'POST' : 'GET' },
    headers: form ? { ...headers, 'content-type': 'application/x-www-form-urlencoded' } : {},
  });
  request.end(form && new URLSearchParams(form).toString());
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const text = await boundedText(answer).catch((error) => {
    throw error instanceof TooLong ? new Error(`${url.origin} answered with ${error.message}`) : error;
  });
  // The answer may contain tokens, so it is not quoted.
  if (answer.statusCode !== 200) throw new Refusal(`${url.origin} answered ${answer.statusCode}`);
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw new Error(`${url.origin} did not answer with JSON`);
  }
}

/** Changes only the tokens in the file, and keeps its comments. */
async function persist({ user }: SelectedContext, tokens: Config): Promise<void> {
  try {
    const document = parseDocument(await readFile(user.file, 'utf8'));
    const users = document.get('users');
    const index = isSeq(users)
      ? users.items.findIndex((one) => isMap(one) && one.get('name') === user.name)
      : -1;
    if (index < 0) return;
    for (const [name, value] of Object.entries(tokens))
      document.setIn(['users', index, 'user', 'auth-provider', 'config', name], value);
    await replaceTextFile(user.file, document.toString());
  } catch (error) {
    throw new Error(`the new tokens could not be written to ${user.file}: ${messageOf(error)}`);
  }
}
