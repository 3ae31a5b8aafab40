import { once } from 'node:events';
import { queryObjects } from 'node:v8';
import { expect, it } from 'vitest';
import { DevloopError } from '../../../src/errors.ts';
import { carryToGateways, relayRoute } from '../../../src/route/relay/relay.ts';
import { Channel } from '../../../src/route/relay/wire/channel.ts';
import { TOKEN_BYTES } from '../../../src/route/relay/wire/frames.ts';
import { makeRelayKeys } from '../../../src/route/relay/wire/keys.ts';
import { ResumableStream } from '../../../src/route/relay/wire/resumable.ts';
import { holdings } from '../../support/holdings.ts';
import { dialTcp, startRelayProgram } from '../../support/relay/program.ts';
import { echo, listenAsGateway, portOf, startRelayed } from '../../support/relay/relayed.ts';

it('stops at the signal, and leaves no timer', async () => {
  const keys = makeRelayKeys();
  const stop = new AbortController();
  const refused = new DevloopError('relay.failed', 'no such Pod', { hint: 'kubectl get pods' });
  let dials = 0;
  using route = holdings(() =>
    relayRoute({
      pod: { namespace: 'a', name: 'b' },
      pods: {},
      ports: new Map([[1, 2]]),
      dial: async () => {
        dials += 1;
        if (dials === 3) stop.abort(new Error('interrupted'));
        throw refused;
      },
      keys,
      emit() {},
      signal: stop.signal,
    }),
  );
  expect(route.held()).toContain('Timeout');
  await expect(route.begun).rejects.toThrow('interrupted');
  await expect.poll(route.held).toEqual([]);
});

it('does not wait for a stream that has ended already', async () => {
  const stream = new ResumableStream(Buffer.alloc(TOKEN_BYTES));
  stream.end('ended');
  await expect(carryToGateways(stream, new Map([[1, 2]]))).rejects.toThrow('ended');
});

it('leaves neither timer nor connection when it is disposed', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using program = await startRelayProgram();
  using route = holdings(() =>
    relayRoute({
      pod: { namespace: 'a', name: 'b' },
      pods: {},
      ports: new Map([[portOf(gateway), program.port]]),
      dial: () => dialTcp(program.controlPort),
      keys: program.keys,
      emit() {},
      signal: new AbortController().signal,
    }),
  );
  const opened = await route.begun;
  expect(route.held()).toEqual(expect.arrayContaining(['Timeout', 'TCPWRAP']));
  await opened[Symbol.asyncDispose]();
  await expect.poll(route.held).toEqual([]);
});

it('does not keep channels of connections that have ended', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway);
  for (let count = 0; count < 60; count++) {
    const caller = await relayed.call();
    if (count % 3 === 0) {
      caller.resume().end('in order');
      await once(caller, 'close');
    } else if (count % 3 === 1) {
      expect(await echo(caller, 'in a hurry', 'open')).toBe('in a hurry');
      caller.resetAndDestroy();
    } else {
      caller.write('gone at once', () => caller.resetAndDestroy());
      await once(caller, 'close');
    }
  }
  await expect.poll(() => gateway.open.size).toBe(0);
  await expect.poll(() => queryObjects(Channel, { format: 'count' })).toBeLessThan(10);
});
