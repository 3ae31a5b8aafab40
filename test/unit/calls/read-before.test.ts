import { createServer, type RequestListener } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import { readBefore } from '../../../src/calls/read-before.ts';
import type { SelectedContext } from '../../../src/cluster/api/kubeconfig.ts';
import type { Login } from '../../../src/cluster/api/login.ts';
import { createForwarder } from '../../../src/cluster/api/pass-on.ts';
import { listenOn } from '../../../src/machine/port.ts';
import { partly } from '../../support/partly.ts';

const STATUS = apiCall({ method: 'PATCH', url: '/apis/apps/v1/namespaces/a/deployments/web/status?x=1' });
const NEVER = new AbortController().signal;

async function reading(
  listener: RequestListener,
  call = STATUS,
  signal = NEVER,
): Promise<string | undefined> {
  const server = createServer(listener);
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void server.close().closeAllConnections());
  const login = partly<Login>({
    auth: { headers: { authorization: 'Bearer of the controller' } },
    retriedWith: <T>(attempt: () => Promise<T>) => attempt(),
  });
  const upstream = createForwarder({ server: `http://127.0.0.1:${port}` } as SelectedContext, login);
  return (await readBefore(call, upstream, signal))?.toString();
}

test('the object itself is read as JSON, with the account of the controller', async () => {
  const echo: RequestListener = ({ method, url, headers }, response) =>
    response.end(`${method} ${url} ${headers.accept} ${headers.authorization}`);
  const as = 'application/json Bearer of the controller';
  expect(await reading(echo)).toBe(`GET /apis/apps/v1/namespaces/a/deployments/web ${as}`);
  const core = apiCall({ method: 'DELETE', url: '/api/v1/namespaces/a%20b' });
  expect(await reading(echo, core)).toBe(`GET /api/v1/namespaces/a%20b ${as}`);
});

test('a read that is refused, fails or is too large ends with nothing', async () => {
  expect(await reading((_, response) => response.writeHead(403).end('{}'))).toBe(undefined);
  expect(await reading(({ socket }) => socket.destroy())).toBe(undefined);
  expect(await reading((_, response) => response.end(Buffer.alloc(2 ** 21)))).toBe(undefined);
});

test('the write does not wait for a read that does not end, nor for a client that is gone', async () => {
  expect(await reading((_, response) => response.write('{'))).toBe(undefined);
  expect(await reading(() => {}, STATUS, AbortSignal.abort())).toBe(undefined);
});
