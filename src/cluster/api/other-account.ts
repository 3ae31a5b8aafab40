import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { DevloopError } from '../../errors.ts';
import { openConnections, sparingIdle } from './connections.ts';
import { bearer } from './credentials.ts';
import type { SelectedContext } from './kubeconfig.ts';
import { FORWARDED_IDLE_MS, type Login } from './login.ts';
import { createForwarder, type Forwarder, type ForwardingLogin } from './pass-on.ts';
import type { Tokens } from './tokens.ts';

/** How requests are sent as another account: with its tokens, or with the user's credentials and the name of the account. */
export type OtherAccount = { tokens: Tokens } | { impersonated: string };

const IMPERSONATES = /^impersonate-/i;

/** Throws `cluster.forbidden` if the kubeconfig leaves no room for this. */
export function createForwarderAs(
  account: OtherAccount,
  { selected, login }: { selected: SelectedContext; login: Login },
): Forwarder & Disposable {
  if ('tokens' in account) {
    const other = withTokens(selected, account.tokens);
    return { ...createForwarder(selected, other), [Symbol.dispose]: () => other[Symbol.dispose]() };
  }
  const forwarder = createForwarder(selected, impersonating(login, account.impersonated));
  return { ...withoutNesting(forwarder, () => account.impersonated), [Symbol.dispose]() {} };
}

/** As the user; the kubeconfig itself can impersonate somebody. */
export function createOwnForwarder(selected: SelectedContext, login: Login): Forwarder {
  const impersonated = (): string | undefined => {
    const headers = Object.entries(login.auth.headers);
    return headers.find(([name]) => IMPERSONATES.test(name))?.[1].toString();
  };
  return withoutNesting(createForwarder(selected, login), impersonated);
}

/** The API server knows the groups of a ServiceAccount, so that its groups need no permission of their own. */
function impersonating(login: Login, username: string): ForwardingLogin {
  if (Object.keys(login.auth.headers).some((name) => IMPERSONATES.test(name)))
    throw new DevloopError('cluster.forbidden', 'the kubeconfig itself impersonates somebody');
  return {
    get auth() {
      return { headers: { ...login.auth.headers, 'Impersonate-User': username } };
    },
    get forwarded() {
      return login.forwarded;
    },
    retriedWith: (attempt, isRejected) => login.retriedWith(attempt, isRejected),
  };
}

/** A request names one account to impersonate, so there is no place for another. */
function withoutNesting(forwarder: Forwarder, impersonated: () => string | undefined): Forwarder {
  const refused = ({ headers }: { headers: IncomingHttpHeaders }): IncomingMessage | undefined => {
    const username = impersonated();
    const isNested = username !== undefined && Object.keys(headers).some((name) => IMPERSONATES.test(name));
    return isNested ? refusalOf(username) : undefined;
  };
  return {
    forward: async (request) => refused(request) ?? (await forwarder.forward(request)),
    forwardUpgrade: async (request) => {
      const answer = refused(request);
      return answer ? { answer } : await forwarder.forwardUpgrade(request);
    },
  };
}

function refusalOf(username: string): IncomingMessage {
  const message = `devloop: this request impersonates another account, but devloop itself impersonates ${username} for it. With a token of that account, it could: your account has to be allowed to create serviceaccounts/token.`;
  const status = {
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
    ...{ message, reason: 'Forbidden', code: 403 },
  };
  const headers = { 'content-type': 'application/json' };
  return Object.assign(Readable.from([JSON.stringify(status)]) as IncomingMessage, {
    statusCode: 403,
    headers,
  });
}

/** On connections without a client certificate: the API server would prefer that to the token. */
function withTokens(selected: SelectedContext, tokens: Tokens): ForwardingLogin & Disposable {
  if (new URL(selected.server).protocol === 'http:')
    throw new DevloopError('cluster.forbidden', 'tokens are not sent without TLS');
  const { calls, forwarded, single } = openConnections(selected, {});
  const fresh = sparingIdle(FORWARDED_IDLE_MS);
  let token = '';
  return {
    get auth() {
      return { headers: bearer(token) };
    },
    get forwarded() {
      return fresh(forwarded);
    },
    async retriedWith(attempt, isRejected) {
      const used = await tokens.current();
      token = used;
      const first = await attempt();
      if (!isRejected(first)) return first;
      await tokens.rejected(used);
      token = await tokens.current();
      // The answer to the second attempt is passed on, whatever it is.
      return await attempt();
    },
    [Symbol.dispose]() {
      for (const agent of [calls, forwarded, single]) agent.destroy();
    },
  };
}
