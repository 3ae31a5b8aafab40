import type { Server } from 'node:https';
import { createServer, globalAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { postToController } from '../../../src/gateway/controller-post.ts';
import { calledPaths, createServedGate, type ServedCheck } from '../../../src/session/route/served-gate.ts';
import { eventually } from '../../support/eventually.ts';
import { recordEvents } from '../controller/support/events.ts';

const pair = await selfSignedPair(['hook.shop.svc'], { days: 1 });

/** A controller that serves some paths, and what its gateways were told. */
async function subject(...paths: string[]) {
  const served = new Set<string>();
  /** If there are any, handlers are found by kind, and what is no review is refused. */
  const kinds = new Set<string>();
  const server: Server = createServer(
    { cert: pair.certificate, key: pair.key },
    async (request, response) => {
      const body = await text(request);
      const isReview = body.startsWith('{');
      if (served.has(request.url ?? '')) response.end('{}');
      else response.writeHead(kinds.size > 0 && !isReview ? 400 : 404).end('404 page not found\n');
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port: targetPort } = server.address() as AddressInfo;
  const from = { kind: 'ValidatingWebhookConfiguration', name: 'shop' } as const;
  const calls = paths.map((path) => ({ from, name: 'v', path, port: 443, caBundle: '', groups: [] }));
  const metadata = { namespace: 'shop', name: 'hook' };
  const service = { service: { metadata, spec: {} }, serverName: 'hook.shop.svc', calls, source: '' };
  const told: string[] = [];
  const { all, emit } = recordEvents();
  const check: ServedCheck = {
    work: { emit, signal: new AbortController().signal },
    target: { services: [{ ...service, ports: [{ name: '', port: 443, targetPort }] }] },
    gateways: {
      refuse: (called) => told.push(`refuse ${called.map(({ path }) => path).join()}`),
      ask: (called) => called.length > 0 && told.push(`ask ${called.map(({ path }) => path).join()}`),
      post: (to, body, limits) => postToController({ agent: globalAgent, ...to, body, ...limits }),
      hold: () => told.push('hold'),
      release: () => told.push('release'),
      controllerDown: (why) => told.push(why),
      failFast: (why) => told.push(why),
    },
    rivals: ['./cmd/other'],
  };
  const called = (...paths: string[]) => [
    { ...check.target.services[0]!, calls: paths.map((path) => ({ ...calls[0]!, path })) },
  ];
  return {
    check,
    called,
    served,
    kinds,
    told,
    warnings: () => all('warning'),
    notes: () => all('note'),
    gate: createServedGate(check),
  };
}

test('a program that serves none of the paths is the wrong one, and the others are named', async () => {
  const { gate } = await subject('/a', '/b/');
  await expect(gate.requireServed()).rejects.toMatchObject({
    code: 'controller.wrong-program',
    message: expect.stringContaining('/a, /b'),
    hint: expect.stringContaining('devloop up --package ./cmd/other'),
  });
});

test('a program that answers 404 because of the kind gets the reviews, and one warning says that they decide', async () => {
  const { gate, kinds, told, warnings } = await subject('/a', '/b');
  kinds.add('Widget');
  await gate.requireServed();
  gate.hold(() => {});
  gate.release();
  await eventually(async () => expect(told).toEqual(['refuse ', 'hold', 'refuse ', 'release']));
  expect(warnings()).toMatchObject([{ code: 'webhooks.unclear', values: { paths: ['/a', '/b'] } }]);
});

test('where some paths are not served, their reviews are refused, and a warning names who calls them', async () => {
  const { gate, served, told, warnings } = await subject('/a', '/b');
  served.add('/a');
  await gate.requireServed();
  expect(told).toEqual(['refuse /b']);
  expect(warnings()).toMatchObject([
    {
      code: 'webhooks.unserved',
      values: {
        paths: [{ path: '/b', callers: [{ kind: 'ValidatingWebhookConfiguration', name: 'shop' }] }],
      },
      hint: expect.stringContaining('./cmd/other'),
    },
  ]);
  // Nothing new.
  gate.hold(() => {});
  gate.release();
  await eventually(async () => expect(told).toEqual(['refuse /b', 'hold', 'refuse /b', 'release']));
  expect(warnings()).toHaveLength(1);
  served.add('/b');
  gate.hold(() => {});
  gate.release();
  await eventually(async () => expect(told.slice(4)).toEqual(['hold', 'refuse ', 'release']));
});

test('handlers that are registered after the server listens are waited for', async () => {
  const { gate, served, warnings } = await subject('/a');
  const proving = gate.requireServed();
  setTimeout(() => served.add('/a'), 300);
  await proving;
  expect(warnings()).toEqual([]);
});

test('a program that is replaced while it is asked opens no gate', async () => {
  const { gate, served, told } = await subject('/a');
  served.add('/a');
  gate.hold(() => {});
  gate.release();
  gate.hold(() => {});
  gate.release();
  await eventually(async () => expect(told).toEqual(['hold', 'hold', 'refuse ', 'release']));
});

test('reviews wait until the editors have set their breakpoints', async () => {
  const { check, gate, served, told } = await subject('/a');
  served.add('/a');
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  let isAsked = false;
  check.settled = () => {
    isAsked = true;
    return settled;
  };
  gate.hold(() => {});
  gate.release();
  await eventually(async () => expect(isAsked).toBe(true));
  await new Promise((done) => setTimeout(done, 50));
  expect(told).toEqual(['hold', 'refuse ']);
  resolve();
  await eventually(async () => expect(told).toEqual(['hold', 'refuse ', 'release']));
});

test('a program that ends while it is asked is not asked again, and gets all reviews', async () => {
  const { gate, told, notes } = await subject('/a');
  gate.hold(() => {});
  gate.release();
  gate.controllerDown('it ended', 100);
  gate.hold(() => {});
  gate.release();
  await eventually(async () => expect(told).toEqual(['hold', 'it ended', 'hold', 'refuse ', 'release']));
  expect(notes()).toMatchObject([{ code: 'webhooks.not-asked' }]);
  gate.controllerDown('it ended', 100);
  expect(notes()).toHaveLength(1);
});

test('a program that ends at another time is asked again', async () => {
  const { gate, told, notes } = await subject('/a');
  gate.controllerDown('it ended', 100);
  gate.hold(() => {});
  gate.release();
  await eventually(async () => expect(told).toEqual(['it ended', 'hold', 'refuse /a', 'release']));
  expect(notes()).toEqual([]);
});

test('a new path is asked for before its reviews go on, and one that is not served is refused until it is', async () => {
  const { gate, called, served, told, warnings } = await subject('/a');
  served.add('/a').add('/b');
  await gate.requireServed();
  gate.called(called('/a', '/b', '/c/'));
  expect(told.splice(0)).toEqual(['refuse ', 'ask /b,/c']);
  await eventually(async () => expect(told.splice(0)).toEqual(['refuse /c']));
  const callers = [{ kind: 'ValidatingWebhookConfiguration' }];
  expect(warnings()).toMatchObject([
    { code: 'webhooks.unserved', values: { paths: [{ path: '/c', callers }] } },
  ]);
  // What is known is not asked for again.
  gate.called(called('/b', '/c'));
  gate.called(called('/b', '/a'));
  expect(told).toEqual([]);
  gate.called(called('/b', '/c'));
  served.add('/c').delete('/b');
  gate.hold(() => {});
  gate.release();
  await eventually(async () => expect(told).toEqual(['hold', 'refuse /b', 'release']));
  expect(warnings()).toHaveLength(2);
});

test('a path that is new while the controller is replaced is asked for before reviews go on', async () => {
  const { gate, called, served, told } = await subject('/a');
  served.add('/a');
  gate.hold(() => {});
  gate.called(called('/a', '/b'));
  gate.release();
  await eventually(async () => expect(told).toEqual(['hold', 'refuse /b', 'release']));
});

test('the controller is asked where it listens, if that is not the port of the Pod', async () => {
  const { check } = await subject('/a');
  const { targetPort } = check.target.services[0]!.ports[0]!;
  expect(calledPaths(check.target.services, new Map([[targetPort, 1234]]))).toMatchObject([{ port: 1234 }]);
});

test('each path is asked once on each port, and a webhook without a port is left out', async () => {
  const { check } = await subject('/a', '/a/', '');
  const [service] = check.target.services;
  service!.calls.push({ ...service!.calls[0]!, port: 8443 });
  expect(calledPaths(check.target.services).map(({ path }) => path)).toEqual(['/a', '/']);
});
