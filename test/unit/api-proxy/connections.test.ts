import { once } from 'node:events';
import { Agent, createServer as createTlsServer } from 'node:https';
import { connect as connectTcp, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import type { Refusal } from '../../../src/api-proxy/answers.ts';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import type { SelectedContext } from '../../../src/cluster/api/kubeconfig.ts';
import { createForwarder } from '../../../src/cluster/api/pass-on.ts';
import { listenOn } from '../../../src/machine/port.ts';
import { admitted, loginOf, proxied } from '../../support/api-proxy.ts';

const PODS = '/api/v1/namespaces/shop/pods';
const LOST: Refusal = { code: 503, reason: 'ServiceUnavailable', message: 'the Lease is lost' };

test('idle connections stay open for longer than clients keep them, so that no write meets a closed one', async () => {
  const { ask } = await proxied((_, response) => response.end('{}'));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const { headers } = await ask({ path: PODS, agent });
  const [, seconds] = /timeout=(\d+)/.exec(String(headers['keep-alive'])) ?? [];
  // client-go, as kube-apiserver itself, keeps them for 90 s.
  expect(Number(seconds)).toBeGreaterThan(90);
});

test('neither a connection without TLS nor one that was refused another protocol delays the end', async () => {
  const { proxy, to } = await proxied((_, response) => response.end('{}'));
  const port = Number(to.port);
  const silent = connectTcp(port, '127.0.0.1').on('error', () => {});
  await once(silent, 'connect');
  const upgrading = connect({ port, ca: to.ca, servername: 'localhost', ...{ allowHalfOpen: true } });
  upgrading.on('error', () => {});
  upgrading.write('GET /exec HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n');
  expect(String((await once(upgrading, 'data'))[0])).toContain('401');
  onTestFinished(() => void upgrading.destroy());
  await proxy[Symbol.asyncDispose]();
});

test('a watch that sends nothing at first is accepted at once', async () => {
  const { send } = await proxied((_, response) => response.writeHead(200).flushHeaders());
  const [answer] = await once(send({ path: `${PODS}?watch=true` }).end(), 'response');
  expect(answer.statusCode).toBe(200);
});

test('a write whose connection took longer than the Lease lasted is not sent', async () => {
  const arrived: string[] = [];
  const pair = await selfSignedPair(['localhost'], { days: 1 });
  const server = createTlsServer({ cert: pair.certificate, key: pair.key }, (sent, response) => {
    arrived.push(sent.method!);
    response.end();
  });
  const behind = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void server.close().closeAllConnections());
  const [connecting, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const network = createTcpServer((socket) => {
    connecting.resolve();
    void gate.promise.then(() => socket.pipe(connectTcp(behind, '127.0.0.1')).pipe(socket));
    socket.on('error', () => {});
  });
  const port = await listenOn(network, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void network.close());
  const agent = new Agent({ ca: pair.certificate, servername: 'localhost' });
  onTestFinished(() => agent.destroy());
  const selected = { server: `https://127.0.0.1:${port}` } as SelectedContext;
  let refusal: Refusal | undefined;
  const { ask } = await admitted({
    upstream: createForwarder(selected, loginOf({ forwarded: agent })),
    mayWrite: async () => refusal,
  });
  const answered = ask({ method: 'POST', path: PODS });
  await connecting.promise;
  refusal = LOST;
  gate.resolve();
  expect(await answered).toMatchObject({ status: 503, text: expect.stringContaining('lost') });
  expect(await ask({ path: PODS })).toMatchObject({ status: 200 });
  expect(arrived).toEqual(['GET']);
});

test('a large write whose body ends after the Lease was lost does not reach the API server as a whole one', async () => {
  const whole: string[] = [];
  const reading = Promise.withResolvers<void>();
  let refusal: Refusal | undefined;
  const { send } = await proxied(
    (sent, response) => {
      sent.once('data', () => reading.resolve());
      sent.on('end', () => {
        whole.push(sent.method!);
        response.end();
      });
      sent.on('error', () => {});
    },
    { mayWrite: async () => refusal },
  );
  const sent = send({ method: 'PUT', path: `${PODS}/web`, headers: { 'content-length': 3 * 2 ** 20 + 1 } });
  const answered = once(sent, 'response');
  sent.write(Buffer.alloc(3 * 2 ** 20));
  await reading.promise;
  refusal = LOST;
  sent.end('x');
  const [answer] = await answered;
  expect(answer.statusCode).toBe(503);
  expect(await text(answer)).toContain('lost');
  expect(whole).toEqual([]);
});

test('an answer to a body that was not read to its end arrives', async () => {
  // As Go's server does: it reads no more, and closes only its own half for the time in which the answer arrives.
  const server = createTcpServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 9\r\n\r\ntoo large');
    onTestFinished(() => void socket.destroy());
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void server.close());
  const selected = { server: `http://127.0.0.1:${port}` } as SelectedContext;
  const { send } = await admitted({ upstream: createForwarder(selected, loginOf()) });
  const sent = send({ method: 'PUT', path: `${PODS}/web` });
  const answered = once(sent, 'response');
  sent.on('error', () => {}).end(Buffer.alloc(32 * 2 ** 20));
  const [answer] = await answered;
  expect([answer.statusCode, await text(answer)]).toEqual([413, 'too large']);
});

test('a client that reads only when its whole body is sent gets a refusal', async () => {
  const { to, admission } = await proxied(() => {}, { mayWrite: async () => LOST });
  const socket = connect({ port: Number(to.port), ca: to.ca, servername: 'localhost' });
  onTestFinished(() => void socket.destroy());
  const size = 32 * 2 ** 20;
  const head = `PUT ${PODS}/web HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admission.token}\r\ncontent-length: ${size}\r\n\r\n`;
  await new Promise((resolve) =>
    socket.write(Buffer.concat([Buffer.from(head), Buffer.alloc(size)]), resolve),
  );
  expect(String((await once(socket, 'data'))[0])).toContain('503');
});
