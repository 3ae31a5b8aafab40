import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import { SELF_REVIEWS } from '../../src/cluster/api/account.ts';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import { SELF_ACCESS_REVIEWS } from '../../src/cluster/api/service-account.ts';
import { listenOn } from '../../src/machine/port.ts';

/** A server that knows who calls it, as kube-apiserver does, and answers everything else with that name. */
export interface AccountServer extends AsyncDisposable {
  /** Logs in as `ann` with a client certificate. */
  api: ClusterApi;
  /** What ann is allowed to do, and what there is. */
  may: { token: boolean; impersonate: boolean; read: boolean };
  has: { account: boolean; reviews: boolean };
  /** The tokens that are accepted. */
  tokens: Set<string>;
  issued: number;
}

export const ACCOUNT = 'system:serviceaccount:shop:manager';
const PATH = '/api/v1/namespaces/shop/serviceaccounts/manager';

export async function accountServer(): Promise<AccountServer> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'devloop-accounts-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const [own, ann] = await Promise.all([
    selfSignedPair(['localhost'], { days: 1 }),
    selfSignedPair(['ann'], { days: 1 }),
  ]);
  const tls = { cert: own.certificate, key: own.key, requestCert: true, rejectUnauthorized: false };
  const server = createServer(tls, async (request, response) => {
    const [status, answer] = answerTo(state, request, await text(request));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  stack.defer(() => void server.close().closeAllConnections());
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const kubeconfig = join(directory, 'config');
  const cluster = {
    server: `https://localhost:${port}`,
    'certificate-authority-data': base64(own.certificate),
  };
  const user = {
    'client-certificate-data': base64(ann.certificate),
    'client-key-data': base64(ann.key),
  };
  const entries = {
    clusters: [{ name: 'x', cluster }],
    users: [{ name: 'x', user }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
  };
  await writeFile(kubeconfig, JSON.stringify({ 'current-context': 'x', ...entries }));
  const api = stack.use(await connect(await loadKubeconfig({ kubeconfig }, {}, '/')));
  const resources = stack.move();
  const state: AccountServer = {
    api,
    may: { token: true, impersonate: true, read: true },
    has: { account: true, reviews: true },
    tokens: new Set(),
    issued: 0,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
  return state;
}

type Answered = [status: number, body: object];

function answerTo(state: AccountServer, request: IncomingMessage, body: string): Answered {
  const user = callerOf(state, request);
  if (typeof user !== 'string') return user;
  const { method, url } = request;
  if (url === SELF_REVIEWS)
    return state.has.reviews ? [201, { status: { userInfo: { username: user } } }] : refusal(404, 'NotFound');
  if (url === SELF_ACCESS_REVIEWS) {
    const { verb } = JSON.parse(body).spec.resourceAttributes;
    return [201, { status: { allowed: verb === 'create' ? state.may.token : state.may.impersonate } }];
  }
  if (url === `${PATH}/token` || url === PATH) return aboutAccount(state, method);
  return [200, { user }];
}

function callerOf({ may, has, tokens }: AccountServer, { headers, socket }: IncomingMessage) {
  // A client certificate beside a token wins.
  const isAnn = (socket as TLSSocket).getPeerX509Certificate() !== undefined;
  const isAccount = has.account && tokens.has(headers.authorization?.replace('Bearer ', '') ?? '');
  if (!isAnn && !isAccount) return refusal(401, 'Unauthorized');
  const impersonated = headers['impersonate-user'];
  if (impersonated === undefined) return isAnn ? 'ann' : ACCOUNT;
  return isAnn && !may.impersonate ? refusal(403, 'Forbidden') : String(impersonated);
}

function aboutAccount(state: AccountServer, method: string | undefined): Answered {
  const { may, has, tokens } = state;
  if (!(method === 'POST' ? may.token : may.read)) return refusal(403, 'Forbidden');
  if (!has.account) return refusal(404, 'NotFound');
  if (method === 'GET') return [200, { metadata: { name: 'manager' } }];
  state.issued += 1;
  tokens.add(`token-${state.issued}`);
  return [201, { spec: { expirationSeconds: 3600 }, status: { token: `token-${state.issued}` } }];
}

function refusal(code: number, reason: string): Answered {
  return [code, { kind: 'Status', status: 'Failure', message: `${reason} here`, reason, code }];
}
