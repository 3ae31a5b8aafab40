import { type EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { proxied } from '../../support/api-proxy.ts';
import { eventually } from '../../support/eventually.ts';

const WRITE: RequestOptions = { method: 'POST', path: '/api/v1/pods' };

/** Also after an error. */
const closed = (one: EventEmitter): Promise<void> =>
  new Promise((resolve) => one.on('error', () => {}).once('close', resolve));

const OVER = { status: 503, text: expect.stringContaining('this start of the controller has ended') };

test('an admission that has ended lets nothing pass, and says so; the others go on', async () => {
  let leftBehind = 0;
  const parts = { leftBehind: () => void leftBehind++ };
  const { proxy, arrived, ask, send } = await proxied((_, response) => response.end('answered'), parts);
  const [first, second] = [proxy.admit(), proxy.admit()];
  expect(await ask(WRITE, first)).toMatchObject({ status: 200 });
  first.end();
  expect(await ask(WRITE, first)).toMatchObject(OVER);
  expect(JSON.parse((await ask({ path: '/version' }, first)).text)).toMatchObject({
    kind: 'Status',
    code: 503,
  });
  const upgrade = { path: '/exec', headers: { connection: 'Upgrade', upgrade: 'echo' } };
  const [refused] = (await once(send(upgrade, first).end(), 'response')) as [IncomingMessage];
  expect({ status: refused.statusCode, text: await text(refused) }).toMatchObject(OVER);
  expect(await ask(WRITE, second)).toMatchObject({ status: 200, text: 'answered' });
  expect(arrived).toEqual([`POST ${WRITE.path}`, `POST ${WRITE.path}`]);
  await eventually(async () => {
    expect(await ask(WRITE, first)).toMatchObject(OVER);
    expect(leftBehind).toBeGreaterThan(0);
  });
});

test('a watch, a body that is still sent, and another protocol end with their admission', async () => {
  const cut = Promise.withResolvers<void>();
  const { proxy, send, server } = await proxied((sent, response) => {
    if (sent.method === 'GET') response.writeHead(200).write('{"type":"ADDED"}\n');
    else sent.resume().on('error', () => cut.resolve());
  });
  server.on('upgrade', (_, socket: Socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n');
    socket.on('error', () => {});
  });
  const admission = proxy.admit();
  const watch = send({ path: '/api/v1/pods?watch=true' }, admission).end();
  const [events] = (await once(watch, 'response')) as [IncomingMessage];
  await once(events, 'data');
  const writing = send({ ...WRITE, headers: { 'content-length': 8 * 2 ** 20 } }, admission);
  writing.on('error', () => {});
  await new Promise((resolve) => writing.write(Buffer.alloc(4 * 2 ** 20), resolve));
  const upgrade = { path: '/exec', headers: { connection: 'Upgrade', upgrade: 'echo' } };
  const [, socket] = await once(send(upgrade, admission).end(), 'upgrade');
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
  const waiting = send({ ...WRITE, path: '/api/v1/late' }, first).end();
  const failed = closed(waiting);
  await asked.promise;
  first.end();
  await failed;
  consent.resolve(undefined);
  expect(await ask(WRITE, second)).toMatchObject({ status: 200 });
  expect(arrived).toEqual([`POST ${WRITE.path}`]);
});
