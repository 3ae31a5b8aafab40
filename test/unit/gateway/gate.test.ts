import { Agent } from 'node:https';
import { expect, test } from 'vitest';
import { createGate } from '../../../src/gateway/gate.ts';
import { probePath, readProbe } from '../../../src/gateway/probe.ts';
import { Controller, setUp, until } from './support.ts';

test('the gate releases reviews in the order in which they arrived', async () => {
  const gate = createGate();
  const never = new AbortController().signal;
  const leaver = new AbortController();
  gate.hold();
  const passed: number[] = [];
  const passes = [0, 1, 2, 3].map((number) =>
    gate
      .pass(performance.now() + 60_000, number === 1 ? leaver.signal : never)
      .then(() => passed.push(number)),
  );
  expect(gate.held).toBe(4);
  leaver.abort('gone');
  await expect(passes[1]).rejects.toBe('gone');
  gate.release();
  await Promise.allSettled(passes);
  expect(passed).toEqual([0, 2, 3]);
});

test('reviews go on when neither the controller nor the user holds them', async () => {
  const gate = createGate();
  const { signal } = new AbortController();
  const pass = () => gate.pass(performance.now() + 60_000, signal);
  gate.holdForUser();
  gate.hold();
  let passed = 0;
  const passing = Promise.all([1, 2].map(() => pass().then(() => (passed += 1))));
  gate.release();
  expect([passed, gate.held]).toEqual([0, 2]);
  gate.hold();
  gate.releaseForUser();
  expect([passed, gate.held]).toEqual([0, 2]);
  gate.release();
  await passing;
  await pass();
});

test('held reviews wait however often hold is called, and one release forwards them all', async () => {
  await using bench = await setUp();
  bench.gateway.hold();
  bench.gateway.hold();
  const replies = [];
  for (let index = 0; index < 10; index++) {
    replies.push(bench.ask(`/?${index}`));
    await until(() => bench.gateway.held === index + 1);
  }
  expect(bench.controller.seen).toEqual([]);
  bench.gateway.release();
  expect(bench.gateway.held).toBe(0);
  for (const reply of await Promise.all(replies)) expect(reply.status).toBe(200);
  expect([...bench.controller.seen].sort()).toEqual(Array.from({ length: 10 }, (_, index) => `/?${index}`));
});

test('a review that is held beyond its budget gets a 503, and others keep waiting', async () => {
  await using bench = await setUp();
  bench.gateway.hold();
  const patient = bench.ask('/convert');
  const reply = await bench.ask('/validate?timeout=1s');
  expect(reply.status).toBe(503);
  expect(reply.text).toMatch(/devloop: .* 0\.\d s .*\b1 s\b/);
  expect(bench.gateway.held).toBe(1);
  bench.gateway.release();
  expect((await patient).status).toBe(200);
  expect(bench.controller.seen).toEqual(['/convert']);
});

test('half of the time of each review that waits is reported, and not that of one that has left', async () => {
  const gate = createGate();
  const half = Promise.withResolvers<void>();
  let count = 0;
  gate.hold(() => {
    count += 1;
    half.resolve();
  });
  const leaver = new AbortController();
  const leaving = gate.pass(performance.now() + 20, leaver.signal);
  leaver.abort('gone');
  await expect(leaving).rejects.toBe('gone');
  const waiting = gate.pass(performance.now() + 100, new AbortController().signal);
  await half.promise;
  expect(count).toBe(1);
  gate.release();
  expect(await waiting).toBeUndefined();
});

test('a client that disconnects no longer counts as held', async () => {
  await using bench = await setUp();
  bench.gateway.hold();
  const abort = new AbortController();
  const reply = bench.ask('/', { signal: abort.signal });
  await until(() => bench.gateway.held === 1);
  abort.abort();
  await expect(reply).rejects.toThrow();
  await until(() => bench.gateway.held === 0);
  bench.gateway.release();
  expect(bench.controller.seen).toEqual([]);
});

test('the gateway itself answers a probe, even while it holds reviews and no controller listens', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  bench.gateway.hold();
  const body = JSON.stringify({ kind: 'AdmissionReview', request: { uid: 'u-1' } });
  const reply = await bench.ask(`${probePath('abc12345')}?timeout=5s`, { body });
  expect(reply.status).toBe(200);
  const review = JSON.parse(reply.text);
  expect(review).toMatchObject({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid: 'u-1', allowed: false, status: { code: 403 } },
  });
  expect(readProbe(review.response.status.message)).toEqual({ nonce: 'abc12345', session: 's1' });
});

test('an object that asks for several probes is allowed, with a warning of each', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  const ask = async (label: string): Promise<Record<string, unknown>> => {
    const object = { metadata: { labels: { 'devloop.dev/probe': label } } };
    const body = JSON.stringify({ kind: 'AdmissionReview', request: { uid: 'u-1', object } });
    return JSON.parse((await bench.ask(probePath('abc12345'), { body })).text).response;
  };
  expect(await ask('abc12345')).toMatchObject({ allowed: false });
  const { allowed, warnings } = await ask('xyz-together');
  expect(allowed).toBe(true);
  expect((warnings as string[]).map(readProbe)).toEqual([{ nonce: 'abc12345', session: 's1' }]);
});

test.each(['', 'null', '[]', '{"request":{"uid":5}}', 'not json'])(
  'a probe with the body %j gets a 400',
  async (body) => {
    await using bench = await setUp();
    const reply = await bench.ask(probePath('abc12345'), { body });
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toMatchObject({ kind: 'Status', code: 400 });
  },
);

test.each([
  ['with hold and release around it', true],
  ['without a hold', false],
])('no review is lost over ten restarts of the controller, %s', async (_, hold) => {
  const controller = new Controller((_request, response) => void setTimeout(() => response.end('ok'), 3));
  await using bench = await setUp(controller);
  const agent = new Agent({ keepAlive: true, maxSockets: 25 });
  let done = 0;
  const clients = Array.from({ length: 25 }, async (_unused, client) => {
    for (let index = 0; index < 20; index++) {
      const reply = await bench.ask(`/?${client}.${index}&timeout=10s`, { agent });
      if (reply.status !== 200 || reply.text !== 'ok') throw new Error(reply.text);
      done += 1;
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  });
  const restarts = (async () => {
    for (let index = 0; index < 10; index++) {
      await until(() => done >= index * 40);
      if (hold) bench.gateway.hold();
      await controller.stop();
      await new Promise((resolve) => setTimeout(resolve, 20));
      await controller.start();
      if (hold) bench.gateway.release();
    }
  })();
  await Promise.all([...clients, restarts]);
  agent.destroy();
  expect(done).toBe(500);
  expect(new Set(controller.seen).size).toBe(500);
  expect(bench.events).toEqual([]);
});

test('while the controller is down, reviews with a short budget are refused at once with the reason, and the others wait', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  const reason = 'it ended, and is started again in 5 s';
  bench.gateway.controllerDown(reason, 5000);
  const patient = bench.ask('/convert');
  const reply = await bench.ask('/validate?timeout=4s');
  expect(reply.status).toBe(503);
  expect(reply.text).toContain(`devloop: ${reason}`);
  await until(() => bench.gateway.held === 1);
  bench.gateway.hold();
  await bench.controller.start();
  bench.gateway.release();
  expect((await patient).status).toBe(200);
});

test('while the controller is down, no review reaches another program that listens on its port', async () => {
  await using bench = await setUp();
  bench.gateway.controllerDown('the controller ended', Number.POSITIVE_INFINITY);
  const reply = await bench.ask('/');
  expect(reply.status).toBe(503);
  expect(reply.text).toContain('devloop: the controller ended');
  bench.gateway.controllerDown('the controller ended', 500);
  const waiting = bench.ask('/convert');
  await until(() => bench.gateway.held === 1);
  // The time is over, and nothing shows that a controller runs.
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(bench.gateway.held).toBe(1);
  bench.gateway.controllerDown('the controller ended again', Number.POSITIVE_INFINITY);
  expect((await waiting).text).toContain('devloop: the controller ended again');
  expect(bench.controller.seen).toEqual([]);
});

test('a review whose controller ends before the answer is not sent to the next program on its port', async () => {
  const controller = new Controller();
  await using bench = await setUp(controller);
  controller.answer = (request) => {
    bench.gateway.controllerDown('the controller ended', Number.POSITIVE_INFINITY);
    controller.answer = (_request, response) => response.end('stranger');
    request.socket.destroy();
  };
  const reply = await bench.ask('/');
  expect(reply.text).toContain('devloop: the controller ended');
  expect(controller.seen).toEqual(['/']);
});

test('a review that is held when the controller goes down is refused, if its budget is too short, once it is released', async () => {
  await using bench = await setUp();
  bench.gateway.hold();
  const reply = bench.ask('/');
  await until(() => bench.gateway.held === 1);
  bench.gateway.controllerDown('the new build ended', Number.POSITIVE_INFINITY);
  expect(bench.gateway.held).toBe(1);
  bench.gateway.release();
  expect((await reply).text).toContain('devloop: the new build ended');
  expect(bench.controller.seen).toEqual([]);
});

test('failFast refuses reviews at once where nothing listens, and sends them where a controller does', async () => {
  await using bench = await setUp();
  bench.gateway.failFast('the session is ending');
  expect((await bench.ask('/')).status).toBe(200);
  await bench.controller.stop();
  const reply = await bench.ask('/convert');
  expect(reply.status).toBe(503);
  expect(reply.text).toContain('devloop: the session is ending');
});

test('the next hold ends controllerDown', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  bench.gateway.controllerDown('the controller ended', Number.POSITIVE_INFINITY);
  bench.gateway.hold();
  const reply = bench.ask('/');
  await until(() => bench.gateway.held === 1);
  bench.gateway.release();
  await bench.controller.start();
  expect((await reply).status).toBe(200);
});
