import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { ApiProxyParts } from '../../src/api-proxy/pass-on.ts';
import { openApiProxy } from '../../src/api-proxy/proxy.ts';
import type { SelectedContext } from '../../src/cluster/api/kubeconfig.ts';
import type { Login } from '../../src/cluster/api/login.ts';
import { createForwarder } from '../../src/cluster/api/pass-on.ts';
import { listenOn } from '../../src/machine/port.ts';
import { partly } from './partly.ts';

/** A login that is never renewed. */
export function loginOf(more: Partial<Login> = {}): Login {
  return partly<Login>({
    auth: { headers: {} },
    retriedWith: <T>(attempt: () => Promise<T>) => attempt(),
    ...more,
  });
}

/** An API proxy before an API server of the test, which notes what arrives. */
export async function proxied(answer: RequestListener, parts: Partial<ApiProxyParts> = {}) {
  const arrived: string[] = [];
  const server = createServer((sent: IncomingMessage, response: ServerResponse) => {
    arrived.push(`${sent.method} ${sent.url}`);
    answer(sent, response);
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void server.close().closeAllConnections());
  const upstream = createForwarder({ server: `http://127.0.0.1:${port}` } as SelectedContext, loginOf());
  return { server, arrived, ...(await admitted({ upstream, ...parts })) };
}

/** An API proxy that has admitted the test. */
export async function admitted(parts: ApiProxyParts) {
  const proxy = await openApiProxy(parts);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT } = proxy.variables;
  const to = { host, port: KUBERNETES_SERVICE_PORT, ca: proxy.certificate, agent: false as const };
  const admission = proxy.admit();
  const send = ({ headers = {}, ...more }: RequestOptions, by = admission) =>
    request({ ...to, ...more, headers: { authorization: `Bearer ${by.token}`, ...headers } });
  const ask = async (more: RequestOptions, by = admission) => {
    const [answered] = (await once(send(more, by).end(), 'response')) as [IncomingMessage];
    return { status: answered.statusCode, headers: answered.headers, text: await text(answered) };
  };
  return { proxy, to, admission, send, ask };
}
