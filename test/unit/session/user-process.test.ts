import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { freePort } from '../../../src/machine/port.ts';
import { askUserProcess } from '../../../src/session/route/user-process.ts';
import { eventually } from '../../support/eventually.ts';
import { recordEvents } from '../controller/support/events.ts';

const { certificate: cert, key } = await selfSignedPair(['hook.shop.svc'], { days: 1 });

/** A process of the user's that serves some paths; `stop` ends it as a kill would. */
async function startProcess(port: number, ...paths: string[]) {
  const bodies: string[] = [];
  const server: Server = createServer({ cert, key }, async (request, response) => {
    const body = await text(request);
    if (!paths.includes(request.url!)) return response.writeHead(404).end('404 page not found\n');
    bodies.push(body);
    return response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(() => (server.listening ? stop() : undefined));
  return { bodies, stop, port: (server.address() as AddressInfo).port };
}

function askOn(port: number, ...paths: string[]) {
  const from = { kind: 'ValidatingWebhookConfiguration', name: 'shop' } as const;
  const call = { from, name: 'v', port: 443, caBundle: '', groups: [] };
  const of = (...all: string[]) => [
    {
      service: { metadata: { namespace: 'shop', name: 'hook' }, spec: {} },
      ...{ serverName: 'hook.shop.svc', source: '', calls: all.map((path) => ({ ...call, path })) },
      ports: [{ name: '', port: 443, targetPort: port }],
    },
  ];
  const { all, emit } = recordEvents();
  const work = { emit, signal: new AbortController().signal };
  const asking = askUserProcess({ work, target: { services: of(...paths) } });
  onTestFinished(() => asking[Symbol.asyncDispose]());
  return { warnings: () => all('warning'), called: (...now: string[]) => asking.called(of(...now)) };
}

test('a process that the user starts later is asked without a review, and a warning names what it does not serve', async () => {
  const port = await freePort();
  const { warnings } = askOn(port, '/a', '/b');
  await pause(100);
  const { bodies } = await startProcess(port, '/a');
  await eventually(async () => expect(warnings()).toHaveLength(1));
  expect(warnings()).toMatchObject([
    {
      message: expect.stringMatching(/Your process .*:\n {2}\/b {2}\(ValidatingWebhookConfiguration shop\)$/),
    },
  ]);
  expect(new Set(bodies)).toEqual(new Set(['']));
});

test('the next process is asked again, and what is as before is not said twice', async () => {
  const port = await freePort();
  const { warnings } = askOn(port, '/a', '/b');
  const first = await startProcess(port, '/a');
  await eventually(async () => expect(warnings()).toHaveLength(1));
  await first.stop();
  await pause(600);
  const second = await startProcess(port, '/a');
  await eventually(async () => expect(second.bodies.length).toBeGreaterThan(0));
  await second.stop();
  await pause(600);
  const third = await startProcess(port, '/b');
  await eventually(async () => expect(warnings()).toHaveLength(2));
  expect(third.bodies.length).toBeGreaterThan(0);
  expect(warnings()[1]!.message).toMatch(/\n {2}\/a {2}\(/);
});

test('a process that serves everything is asked once, and for a path that is new', async () => {
  const port = await freePort();
  const { warnings, called } = askOn(port, '/a');
  const { bodies } = await startProcess(port, '/a');
  await eventually(async () => expect(bodies).toHaveLength(1));
  await pause(500);
  expect(bodies).toHaveLength(1);
  called('/a', '/c');
  await eventually(async () =>
    expect(warnings()).toMatchObject([{ message: expect.stringContaining('/c') }]),
  );
  expect(bodies).toHaveLength(1);
});

test('a server that closes its connections without an end is the same process, and is left in peace', async () => {
  const port = await freePort();
  askOn(port, '/a');
  let count = 0;
  const server = createServer({ cert, key }, (_, response) => {
    count += 1;
    response.writeHead(200, { connection: 'close' }).end('{}');
  }).listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await pause(1_500);
  // One to see it, one for the path and one for nobody's path; and then fewer and fewer.
  expect(count).toBeGreaterThan(2);
  expect(count).toBeLessThan(10);
});

test('a process that ends with a reset of its connections is followed by the next one', async () => {
  const port = await freePort();
  const { warnings } = askOn(port, '/a');
  const sockets = new Set<Duplex>();
  const server = createServer({ cert, key }, (_, response) => void response.end('{}'));
  server.on('connection', (socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await pause(800);
  for (const socket of sockets) (socket as Socket).resetAndDestroy();
  await new Promise((resolve) => server.close(resolve));
  await pause(600);
  await startProcess(port, '/b');
  await eventually(async () => expect(warnings()).toHaveLength(1));
});
