import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { reviewMark } from '../../../src/api-proxy/answer-warnings.ts';
import type { CallHooks, ServedCall } from '../../../src/api-proxy/observed.ts';
import { openApiProxy } from '../../../src/api-proxy/proxy.ts';
import type { SelectedContext } from '../../../src/cluster/api/kubeconfig.ts';
import type { Login } from '../../../src/cluster/api/login.ts';
import { createForwarder } from '../../../src/cluster/api/pass-on.ts';
import { listenOn } from '../../../src/machine/port.ts';
import { partly } from '../../support/partly.ts';

const WEB = '/apis/apps/v1/namespaces/shop/deployments/web';

/** A proxy before an API server of the test. */
async function observed(listener: RequestListener, hooks: Partial<CallHooks> = {}) {
  const served: ServedCall[] = [];
  const server = createServer(listener);
  const at = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void server.close().closeAllConnections());
  const login = partly<Login>({
    auth: { headers: {} },
    retriedWith: <T>(attempt: () => Promise<T>) => attempt(),
  });
  const upstream = createForwarder({ server: `http://127.0.0.1:${at}` } as SelectedContext, login);
  const all = { served: (one: ServedCall) => void served.push(one), watched: () => {}, ...hooks };
  const opened = await openApiProxy({ upstream, hooks: all });
  onTestFinished(() => opened[Symbol.asyncDispose]());
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = opened.variables;
  const headers = { authorization: `Bearer ${opened.admit().token}` };
  const ask = async (method: string, path: string) => {
    const to = { host, port, path, method, headers, ca: opened.certificate, agent: false as const };
    const [answered] = (await once(request(to).end(), 'response')) as [IncomingMessage];
    return { headers: answered.headers, text: await text(answered) };
  };
  return { ask, served };
}

test('the reviews that a call caused are told to the hooks, and not to the controller', async () => {
  const warning = `299 - "old API", 299 - "${reviewMark('u1')}"`;
  const begun: string[] = [];
  const { ask, served } = await observed((_, response) => response.writeHead(200, { warning }).end('{}'), {
    begun: ({ verb }) => void begun.push(verb),
  });
  expect((await ask('PUT', WEB)).headers.warning).toBe('299 - "old API"');
  expect(begun).toEqual(['update']);
  await expect.poll(() => served).toMatchObject([{ answer: { reviews: ['u1'], warnings: ['old API'] } }]);
});

test('a write waits until its object was read, and reads wait for nothing', async () => {
  const arrived: string[] = [];
  const gate = Promise.withResolvers<void>();
  const asked: string[] = [];
  const { ask } = await observed(
    (sent, response) => {
      arrived.push(sent.method!);
      response.end('{}');
    },
    {
      beforeWrite({ verb }) {
        asked.push(verb);
        return gate.promise;
      },
    },
  );
  const written = ask('PATCH', WEB);
  await expect.poll(() => asked).toEqual(['patch']);
  await ask('GET', WEB);
  await ask('PATCH', `${WEB}?dryRun=All`);
  expect(arrived).toEqual(['GET', 'PATCH']);
  gate.resolve();
  await written;
  expect(arrived).toEqual(['GET', 'PATCH', 'PATCH']);
  await ask('PATCH', '/api/v1/namespaces/../pods/web');
  expect(asked).toEqual(['patch']);
});
