import { type EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { Admission } from '../../../src/api-proxy/admission.ts';
import type { ApiProxyParts } from '../../../src/api-proxy/pass-on.ts';
import { openApiProxy } from '../../../src/api-proxy/proxy.ts';
import type { SelectedContext } from '../../../src/cluster/api/kubeconfig.ts';
import type { Login } from '../../../src/cluster/api/login.ts';
import { createForwarder } from '../../../src/cluster/api/pass-on.ts';
import { listenOn } from '../../../src/machine/port.ts';
import { eventually } from '../../support/eventually.ts';
import { partly } from '../../support/partly.ts';

const WRITE: RequestOptions = { method: 'POST', path: '/api/v1/pods' };

/** A proxy before a server of the test, which notes what arrives. */
async function proxied(
  answer: (sent: IncomingMessage, response: ServerResponse) => void,
  parts: Partial<ApiProxyParts> = {},
) {
  const arrived: string[] = [];
  const server = createServer((sent, response) => {
    arrived.push(`${sent.method} ${sent.url}`);
    answer(sent, response);
  });
  server.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n');
    socket.on('error', () => {});
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void server.close().closeAllConnections());
  const login = partly<Login>({
    auth: { headers: {} },
    retriedWith: <T>(attempt: () => Promise<T>) => attempt(),
  });
  const upstream = createForwarder({ server: `http://127.0.0.1:${port}` } as SelectedContext, login);
  const proxy = await openApiProxy({ upstream, ...parts });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT } = proxy.variables;
  const to = { host, port: KUBERNETES_SERVICE_PORT, ca: proxy.certificate, agent: false };
  const send = ({ token }: Admission, { headers = {}, ...more }: RequestOptions) =>
    request({ ...to, headers: { ...headers, authorization: `Bearer ${token}` }, ...more });
  const ask = async (admission: Admission, more: RequestOptions) => {
    const [answered] = (await once(send(admission, more).end(), 'response')) as [IncomingMessage];
    return { status: answered.statusCode, text: await text(answered) };
  };
  return { proxy, arrived, send, ask };
}

/** Also after an error. */
const closed = (one: EventEmitter): Promise<void> =>
  new Promise((resolve) => one.on('error', () => {}).once('close', resolve));

const OVER = { status: 503, text: expect.stringContaining('this start of the controller has ended') };

test('an admission that has ended lets nothing pass, and says so; the others go on', async () => {
  let leftBehind = 0;
  const parts = { leftBehind: () => void leftBehind++ };
  const { proxy, arrived, ask, send } = await proxied((_, response) => response.end('answered'), parts);
  const [first, second] = [proxy.admit(), proxy.admit()];
  expect(await ask(first, WRITE)).toMatchObject({ status: 200 });
  first.end();
  expect(await ask(first, WRITE)).toEqual(OVER);
  expect(JSON.parse((await ask(first, { path: '/version' })).text)).toMatchObject({
    kind: 'Status',
    code: 503,
  });
  const upgrade = { path: '/exec', headers: { connection: 'Upgrade', upgrade: 'echo' } };
  const [refused] = (await once(send(first, upgrade).end(), 'response')) as [IncomingMessage];
  expect({ status: refused.statusCode, text: await text(refused) }).toEqual(OVER);
  expect(await ask(second, WRITE)).toMatchObject({ status: 200, text: 'answered' });
  expect(arrived).toEqual([`POST ${WRITE.path}`, `POST ${WRITE.path}`]);
  await eventually(async () => {
    expect(await ask(first, WRITE)).toEqual(OVER);
    expect(leftBehind).toBeGreaterThan(0);
  });
});

test('a watch, a body that is still sent, and another protocol end with their admission', async () => {
  const cut = Promise.withResolvers<void>();
  const { proxy, send } = await proxied((sent, response) => {
    if (sent.method === 'GET') response.writeHead(200).write('{"type":"ADDED"}\n');
    else sent.resume().on('error', () => cut.resolve());
  });
  const admission = proxy.admit();
  const watch = send(admission, { path: '/api/v1/pods?watch=true' }).end();
  const [events] = (await once(watch, 'response')) as [IncomingMessage];
  await once(events, 'data');
  const writing = send(admission, { ...WRITE, headers: { 'content-length': 8 * 2 ** 20 } });
  writing.on('error', () => {});
  await new Promise((resolve) => writing.write(Buffer.alloc(4 * 2 ** 20), resolve));
  const upgrade = { path: '/exec', headers: { connection: 'Upgrade', upgrade: 'echo' } };
  const [, socket] = await once(send(admission, upgrade).end(), 'upgrade');
  const ended = [closed(events), closed(socket)];
  admission.end();
  await Promise.all([...ended, cut.promise]);
});

test('a write that waits for consent while its admission ends is not sent', async () => {
  const [asked, consent] = [Promise.withResolvers<void>(), Promise.withResolvers<undefined>()];
  const mayWrite = () => {
    asked.resolve();
    return consent.promise;
  };
  const { proxy, arrived, ask, send } = await proxied((_, response) => response.end(), { mayWrite });
  const [first, second] = [proxy.admit(), proxy.admit()];
  const waiting = send(first, { ...WRITE, path: '/api/v1/late' }).end();
  const failed = closed(waiting);
  await asked.promise;
  first.end();
  await failed;
  consent.resolve(undefined);
  expect(await ask(second, WRITE)).toMatchObject({ status: 200 });
  expect(arrived).toEqual([`POST ${WRITE.path}`]);
});
