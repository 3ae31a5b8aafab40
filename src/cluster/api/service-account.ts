import { text } from 'node:stream/consumers';
import { SELF_REVIEWS, type SelfReview } from './account.ts';
import type { ClusterApi } from './client.ts';
import { ApiError, GarbledAnswer } from './errors.ts';
import { objectPath } from './kinds.ts';
import type { Forwarder } from './pass-on.ts';
import type { IssuedToken } from './tokens.ts';

export interface ServiceAccountName {
  namespace: string;
  name: string;
}

/** The API server refuses less than ten minutes, and some servers allow no more than an hour. */
const LIFE_SECONDS = 3600;

/** As the API server calls the account: `system:serviceaccount:shop:manager`. */
export function usernameOf({ namespace, name }: ServiceAccountName): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** The account that the API server calls so; undefined for other users. */
export function accountIn(username: string | undefined): ServiceAccountName | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username ?? '') ?? [];
  return namespace === undefined ? undefined : { namespace, name: name! };
}

/**
 * Asks for a token for the API server itself: one for another audience would be issued, and then refused. This changes nothing in the cluster,
 * but must never be asked for in a dry run, which answers with a token that works.
 */
export async function requestToken(api: ClusterApi, account: ServiceAccountName): Promise<IssuedToken> {
  const answer = await api.call<{
    spec?: { expirationSeconds?: number };
    status?: { token?: unknown };
  }>('POST', `${objectPath({ kind: 'ServiceAccount', ...account })}/token`, {
    ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
    spec: { expirationSeconds: LIFE_SECONDS },
  });
  const token = answer.status?.token;
  if (typeof token !== 'string' || token === '') throw new GarbledAnswer('a TokenRequest without a token');
  return { token, lifeSeconds: answer.spec?.expirationSeconds ?? LIFE_SECONDS };
}

/**
 * Proves that the API server takes requests of this forwarder for this user's; rejects if it does not. Servers before Kubernetes 1.28 do not
 * say whose requests they are, so there it has to do that they are accepted: those with a wrong token, or by somebody who is not allowed to
 * impersonate, are not.
 */
export async function proveAccount(
  forwarder: Pick<Forwarder, 'forward'>,
  username: string,
  signal: AbortSignal,
): Promise<void> {
  const ask = askingAs(forwarder, signal);
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const answer = await ask('POST', SELF_REVIEWS, review);
  if (answer.status === 404) {
    const version = await ask('GET', '/version', undefined);
    if (version.status >= 400) throw ApiError.from('GET /version', version);
    return;
  }
  if (answer.status >= 400) throw ApiError.from(`POST ${SELF_REVIEWS}`, answer);
  const seen = usernameIn(answer.text);
  if (seen === username) return;
  throw new GarbledAnswer(
    `${seen === undefined ? 'no name' : `the name ${seen}`} when asked who ${username} is`,
  );
}

/** What an account would do with one object, as RBAC names it. */
export interface WantedAccess {
  group: string;
  resource: string;
  subresource?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
}

/** The verbs that the account of this forwarder is not allowed. Rejects if the API server does not say. */
export async function deniedVerbs(
  forwarder: Pick<Forwarder, 'forward'>,
  wanted: WantedAccess,
  verbs: string[],
  signal: AbortSignal,
): Promise<string[]> {
  const ask = askingAs(forwarder, signal);
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' };
  const answers = await Promise.all(
    verbs.map(async (verb) => {
      const answer = await ask('POST', SELF_ACCESS_REVIEWS, {
        ...review,
        spec: { resourceAttributes: { ...wanted, verb } },
      });
      if (answer.status >= 400) throw ApiError.from(`POST ${SELF_ACCESS_REVIEWS}`, answer);
      const { status } = JSON.parse(answer.text) as { status?: { allowed?: boolean } };
      return { verb, isAllowed: status?.allowed === true };
    }),
  );
  return answers.filter(({ isAllowed }) => !isAllowed).map(({ verb }) => verb);
}

export const SELF_ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

function askingAs({ forward }: Pick<Forwarder, 'forward'>, signal: AbortSignal) {
  return async (method: string, path: string, body: object | undefined): Promise<Answered> => {
    const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) };
    const sent = Buffer.from(body ? JSON.stringify(body) : '');
    const answer = await forward({ method, path, headers, body: sent, signal });
    return { status: answer.statusCode ?? 0, text: await text(answer) };
  };
}

interface Answered {
  status: number;
  text: string;
}

function usernameIn(answer: string): string | undefined {
  try {
    const seen = (JSON.parse(answer) as SelfReview | null)?.status?.userInfo?.username;
    return typeof seen === 'string' ? seen : undefined;
  } catch {
    return undefined;
  }
}
