import { once } from 'node:events';
import { expect, it } from 'vitest';
import { startRelayProgram } from '../../support/relay/program.ts';
import {
  echo,
  listenAsGateway,
  portOf,
  startRelayed,
  type TestGateway,
} from '../../support/relay/relayed.ts';

it('knows its target, its ports and its Pod', async () => {
  await using gateway = await echoGateway();
  await using relayed = await startRelayed(gateway);
  const { route, program } = relayed;
  expect(route).toMatchObject({
    name: 'relay',
    via: 'Pod shop/devloop-relay-4f2a',
    target: { pods: { app: 'relay' } },
  });
  expect(route.portFor(portOf(gateway))).toBe(program.port);
  expect(await route.explain()).toBeUndefined();
});

it('does not report a short cut, and open connections survive it', async () => {
  await using gateway = await echoGateway();
  await using relayed = await startRelayed(gateway);
  const open = await relayed.call();
  expect(await echo(open, 'one', 'open')).toBe('one');
  relayed.cutter.cut('reset');
  expect(await echo(open, 'two', 'open')).toBe('two');
  expect(relayed.cutter.count).toBe(2);
  expect(relayed.events).toEqual([]);
});

it('reports a long cut with its cause, and when it has reconnected; open connections survive it', async () => {
  await using gateway = await echoGateway();
  await using relayed = await startRelayed(gateway);
  const { route, events, cutter } = relayed;
  const open = await relayed.call();
  expect(await echo(open, 'one', 'open')).toBe('one');
  cutter.refuse(true);
  cutter.cut('end');
  await expect.poll(() => events, { timeout: 5000 }).toMatchObject([{ type: 'route.lost', route: 'relay' }]);
  expect(await route.explain()).toMatchObject({
    cause: expect.stringContaining('Pod shop/devloop-relay-4f2a'),
    hint: expect.stringContaining('kubectl logs --namespace shop devloop-relay-4f2a'),
  });
  cutter.refuse(false);
  expect(await echo(open, 'two', 'open')).toBe('two');
  await expect
    .poll(() => events)
    .toMatchObject([{ type: 'route.lost' }, { type: 'route.reconnected', route: 'relay' }]);
  const { ms } = events[1] as { ms: number };
  expect(ms).toBeGreaterThanOrEqual(1000);
  expect(await route.explain()).toBeUndefined();
});

it('starts a new stream with a program that replaces another, and resets the open connections', async () => {
  await using gateway = await echoGateway();
  await using relayed = await startRelayed(gateway);
  const { program, events } = relayed;
  const open = await relayed.call();
  expect(await echo(open, 'one', 'open')).toBe('one');
  const [atGateway] = gateway.open;
  const broken = once(atGateway!, 'error');
  program.child.kill('SIGKILL');
  await program.ended;
  const { keys, controlPort, port } = program;
  await using _next = await startRelayProgram({ keys, controlPort, port });
  expect((await broken)[0]).toMatchObject({ code: 'ECONNRESET' });
  await expect
    .poll(() => events, { timeout: 10_000 })
    .toMatchObject([
      { type: 'route.lost', cause: expect.any(String) },
      { type: 'route.reconnected', via: 'Pod shop/devloop-relay-4f2a' },
    ]);
  expect(await echo(await relayed.call(), 'again')).toBe('again');
});

it('carries connections after the signal until it is disposed, without further events', async () => {
  const leaving = new AbortController();
  await using gateway = await echoGateway();
  await using relayed = await startRelayed(gateway, { signal: leaving.signal });
  const { program, events, cutter } = relayed;
  const open = await relayed.call();
  expect(await echo(open, 'one', 'open')).toBe('one');
  leaving.abort('SIGINT');
  expect(await echo(open, 'two', 'open')).toBe('two');
  cutter.cut('reset');
  expect(await echo(await relayed.call(), 'three')).toBe('three');
  program.child.kill('SIGTERM');
  await program.ended;
  await relayed.route[Symbol.asyncDispose]();
  expect(events).toEqual([]);
});

async function echoGateway(): Promise<TestGateway> {
  return await listenAsGateway((socket) => socket.pipe(socket));
}
