import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import { connectionError, unauthorizedError } from './errors.ts';
import type { Selected } from './kubeconfig.ts';

export const USER_AGENT = 'devloop';

/** The current credentials, and the pool of connections that are made with them. */
export interface Login {
  readonly auth: AuthOptions;
  /** Absent for plain HTTP. */
  readonly agent: Agent | undefined;
  /** The options of a connection outside the pool. */
  ownConnection(): RequestOptions;
  /** Tries again with renewed credentials where the first ones are rejected; rejects with `cluster.unauthorized`. */
  retriedWith<T>(attempt: () => Promise<T>, isRejected: (answer: T) => boolean): Promise<T>;
  close(): void;
}

export async function createLogin(selected: Selected): Promise<Login> {
  const isPlain = selected.server.startsWith('http:');
  const isProxied = !!selected.config.getCurrentCluster()?.proxyUrl;
  let auth = await authenticate(selected);
  const agents: Agent[] = [];
  /** One agent for each client certificate. An old one finishes its calls, and is closed with the others. */
  const newAgent = (): Agent | undefined => {
    if (isPlain) return undefined;
    if (isProxied) return auth.agent;
    const tls = agentTls(auth, selected);
    agents.push(new Agent({ ...tls, keepAlive: true, maxSockets: 16, scheduling: 'lifo' }));
    return agents.at(-1);
  };
  let agent = newAgent();
  /** Exec plugins and OIDC issue short-lived tokens; the library gets a new one when the old one has expired. */
  const renew = async (): Promise<void> => {
    const before = auth;
    auth = await authenticate(selected);
    if (auth.cert !== before.cert || auth.key !== before.key) agent = newAgent();
  };
  return {
    get auth() {
      return auth;
    },
    get agent() {
      return agent;
    },
    ownConnection: () => ({
      ...tlsOf(auth),
      ...(isProxied ? { agent: auth.agent! } : {}),
      headers: { ...auth.headers, 'user-agent': USER_AGENT } as Record<string, string>,
    }),
    async retriedWith(attempt, isRejected) {
      const first = await attempt();
      if (!isRejected(first)) return first;
      await renew();
      const second = await attempt();
      if (isRejected(second)) throw unauthorizedError(selected);
      return second;
    },
    close: () => [agent, ...agents].forEach((one) => void one?.destroy()),
  };
}

type AuthOptions = RequestOptions & { agent?: Agent };

async function authenticate(selected: Selected): Promise<AuthOptions> {
  const options: AuthOptions = {};
  try {
    await selected.config.applyToHTTPSOptions(options);
  } catch (error) {
    throw unauthorizedError(selected, error);
  }
  if (options.auth) {
    const basic = Buffer.from(String(options.auth)).toString('base64');
    options.headers = { ...(options.headers as Record<string, string>), authorization: `Basic ${basic}` };
  }
  return options;
}

function tlsOf({
  ca,
  cert,
  key,
  pfx,
  passphrase,
  rejectUnauthorized,
  servername,
}: RequestOptions): AgentOptions {
  const all = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Reads certificates and key once. An agent would do so for each connection, and would compare their whole text at each call. */
function agentTls(auth: AuthOptions, selected: Selected): AgentOptions {
  const { rejectUnauthorized, servername, ...identity } = tlsOf(auth);
  try {
    const secureContext = createSecureContext(identity);
    return { ...tlsOf({ rejectUnauthorized, servername }), secureContext };
  } catch (error) {
    throw connectionError(selected, error);
  }
}
