import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { connect } from '../../../src/route/relay/dial.ts';
import { carryToGateways, relayRoute } from '../../../src/route/relay/relay.ts';
import { PROTOCOL } from '../../../src/route/relay/wire/config.ts';
import {
  encode,
  type Hello,
  NONCE_BYTES,
  SIGNATURE_BYTES,
  TOKEN_BYTES,
} from '../../../src/route/relay/wire/frames.ts';
import { makeRelayKeys } from '../../../src/route/relay/wire/keys.ts';
import { ResumableStream } from '../../../src/route/relay/wire/resumable.ts';
import type { Route } from '../../../src/route/route.ts';
import { identities, type RelayProgram, startRelayProgram } from '../../support/relay/program.ts';
import {
  callPort,
  echo,
  listenAsGateway,
  portOf,
  startRelayed,
  type TestGateway,
} from '../../support/relay/relayed.ts';

it('exits with code 0 when no client connects', async () => {
  await using program = await startRelayProgram({ heartbeatSeconds: 0.2 });
  expect(await program.ended).toBe(0);
  expect(program.output().trimEnd().split('\n').at(-1)).toMatch(/: no client for 0\.2 s$/);
});

it('exits when its client has gone, and not before', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway, { heartbeatSeconds: 2 });
  expect(await echo(await relayed.call(), 'here')).toBe('here');
  await relayed.route[Symbol.asyncDispose]();
  expect(await relayed.program.ended).toBe(0);
  expect(relayed.program.output()).toContain('no client for 2 s');
});

it('does not count unauthenticated connections as clients', async () => {
  await using program = await startRelayProgram({ heartbeatSeconds: 1 });
  const stranger = await program.dial();
  stranger.on('error', () => {});
  stranger.resume().write(encode(hello(Buffer.alloc(TOKEN_BYTES))));
  expect(await program.ended).toBe(0);
});

it('listens for the Service only while a client is there', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using program = await startRelayProgram();
  await expect(callPort(program.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  const route = await routeTo(program, gateway);
  expect(await echo(await callPort(program.port), 'x')).toBe('x');
  await route[Symbol.asyncDispose]();
  await expect.poll(() => callPort(program.port).catch((error) => error.code)).toBe('ECONNREFUSED');
});

it('reports why it cannot listen on a port, to the client and in its log', async () => {
  await using gateway = await listenAsGateway(() => {});
  await using program = await startRelayProgram({ port: portOf(gateway) });
  const stream = new ResumableStream(Buffer.alloc(TOKEN_BYTES, 3));
  const access = { dial: program.dial, identity: identities(program.keys).client };
  const asked = carryToGateways(stream, new Map([[1, program.port]]));
  asked.catch(() => {});
  await connect(stream, access, true, new AbortController().signal);
  await expect(asked).rejects.toThrow(`port ${program.port}: listen EADDRINUSE`);
  await expect.poll(program.output).toContain(`port ${program.port}: listen EADDRINUSE`);
  stream.end('ended');
});

/** A client with the key, and with a gateway of its own. */
function routeTo(program: RelayProgram, gateway: TestGateway, dial = program.dial): Promise<Route> {
  return relayRoute({
    pod: { namespace: 'a', name: 'b' },
    pods: {},
    dial,
    keys: program.keys,
    emit() {},
    ports: new Map([[portOf(gateway), program.port]]),
    signal: new AbortController().signal,
  });
}

it('lets another client with the key take over, and tells the previous one', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using other = await listenAsGateway((socket) => socket.end('the other one'));
  await using relayed = await startRelayed(gateway);
  const { program, events } = relayed;
  expect(await echo(await relayed.call(), 'the first')).toBe('the first');
  await using _second = await routeTo(program, other);
  expect(await echo(await relayed.call(), 'who?')).toBe('the other one');
  await expect
    .poll(() => events)
    .toMatchObject([{ type: 'route.lost', cause: expect.stringContaining('another client') }]);
  expect(await relayed.route.explain()).toMatchObject({ cause: expect.stringContaining('another client') });
});

it('gives the client that takes over the callers that arrived while the previous one was cut off', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using other = await listenAsGateway((socket) => socket.end('the other one'));
  await using relayed = await startRelayed(gateway);
  const { program, cutter } = relayed;
  expect(await echo(await relayed.call(), 'the first')).toBe('the first');
  cutter.refuse(true);
  cutter.cut('reset');
  await expect.poll(program.output).toContain('client disconnected');
  const answered = echo(await relayed.call(), 'who?');
  await using _second = await routeTo(program, other);
  expect(await answered).toBe('the other one');
});

it('refuses a client without the key, which cannot replace the real one', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway);
  const strange = makeRelayKeys();
  const stop = new AbortController();
  const causes: string[] = [];
  const intruder = relayRoute({
    pod: { namespace: 'a', name: 'b' },
    pods: {},
    ports: new Map([[1, relayed.program.port]]),
    dial: async () => {
      causes.push('dialled');
      return await relayed.program.dial();
    },
    keys: { program: relayed.program.keys.program, client: strange.client },
    emit() {},
    signal: stop.signal,
  });
  intruder.catch(() => {});
  await expect.poll(() => causes.length).toBeGreaterThan(2);
  expect(await echo(await relayed.call(), 'still here')).toBe('still here');
  stop.abort(new Error('enough'));
  await expect(intruder).rejects.toThrow('enough');
  expect(relayed.events).toEqual([]);
});

it('does not trust a program with another key', async () => {
  await using program = await startRelayProgram();
  const strange = makeRelayKeys();
  const stop = new AbortController();
  let dials = 0;
  const route = relayRoute({
    pod: { namespace: 'a', name: 'b' },
    pods: {},
    ports: new Map([[1, program.port]]),
    dial: async () => {
      dials += 1;
      return await program.dial();
    },
    keys: { program: strange.program, client: program.keys.client },
    emit() {},
    signal: stop.signal,
  });
  route.catch(() => {});
  await expect.poll(() => dials).toBeGreaterThan(1);
  stop.abort(new Error('enough'));
  await expect(route).rejects.toThrow('enough');
});

it('survives malformed bytes, long lengths, silence, and half a hello', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway);
  const open = await relayed.call();
  expect(await echo(open, 'before', 'open')).toBe('before');
  const token = Buffer.alloc(TOKEN_BYTES, 7);
  const ownHello = encode(hello(token));
  const attacks = [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.from([3, 0xff, 0xff, 0xff]),
    Buffer.alloc(100_000, 1),
    ownHello.subarray(0, 20),
    encode({ type: 'bye', reason: 'ended' }),
    encode({ type: 'data', offset: 5, bytes: token }),
    Buffer.concat([ownHello, encode({ type: 'data', offset: 5, bytes: token })]),
    Buffer.concat([ownHello, encode({ type: 'data', offset: 0, bytes: Buffer.alloc(60_000, 65) })]),
    Buffer.concat([ownHello, encode({ type: 'ack', received: 1_000_000 })]),
    encode({ ...hello(token), fresh: false, received: 99 }),
    encode({ type: 'challenge', nonce: token }),
    encode({ type: 'welcome', resumed: true, received: 0, signature: Buffer.alloc(SIGNATURE_BYTES) }),
    Buffer.alloc(0),
  ];
  for (let round = 0; round < 12; round++) {
    for (const bytes of attacks) {
      const attacker = await relayed.program.dial();
      attacker.on('error', () => {});
      attacker.resume().write(bytes);
    }
  }
  expect(await echo(open, 'after', 'open')).toBe('after');
  expect(await echo(await relayed.call(), 'new')).toBe('new');
  relayed.cutter.cut('reset');
  expect(await echo(open, 'after a cut', 'open')).toBe('after a cut');
  open.destroy();
  expect(relayed.events).toEqual([]);
});

it('carries connections over its proxy port, after an HTTP upgrade', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using program = await startRelayProgram();
  const dial = async (): Promise<Duplex> => (await askProxyPort(program, PROTOCOL)) as Duplex;
  await using _route = await routeTo(program, gateway, dial);
  expect(await echo(await callPort(program.port), 'by proxy')).toBe('by proxy');
});

it('accepts no other protocol and no plain request on its proxy port', async () => {
  await using program = await startRelayProgram();
  expect(await askProxyPort(program, undefined)).toBe(426);
  await expect(askProxyPort(program, 'websocket')).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it('strangers at the port for the proxy do not keep a client out that connects by a port-forward', async () => {
  await using program = await startRelayProgram();
  const client = await program.dial();
  const strangers = await Promise.all(Array.from({ length: 200 }, () => askProxyPort(program, PROTOCOL)));
  const access = { dial: async () => client, identity: identities(program.keys).client };
  const stream = new ResumableStream(Buffer.alloc(TOKEN_BYTES, 3));
  await connect(stream, access, true, new AbortController().signal);
  expect(stream.attached).toBe(true);
  stream.end('ended');
  for (const stranger of strangers) (stranger as Duplex).on('error', () => {}).destroy();
});

it('silent strangers at the webhook port do not keep callers out', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway);
  const strangers: Socket[] = [];
  for (let index = 0; index < 1_100; index += 50)
    strangers.push(...(await Promise.all(Array.from({ length: 50 }, () => relayed.call()))));
  expect(await echo(await relayed.call(), 'here')).toBe('here');
  for (const stranger of strangers) stranger.destroy();
});

/** Like the API server's proxy. Resolves with the upgraded connection, or with the status. */
async function askProxyPort(program: RelayProgram, protocol: string | undefined): Promise<Duplex | number> {
  const headers = protocol === undefined ? {} : { connection: 'Upgrade', upgrade: protocol };
  const asked = request({ host: '127.0.0.1', port: program.proxyPort, headers, agent: false });
  return await new Promise((resolve, reject) => {
    asked.on('error', reject);
    asked.on('response', (response) => resolve(response.resume().statusCode!));
    asked.on('upgrade', (_response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    asked.end();
  });
}

it('on SIGTERM ends idle connections at once and busy ones after their answer', async () => {
  const asked = Promise.withResolvers<() => void>();
  await using gateway = await listenAsGateway((socket) => {
    socket.on('data', (chunk) => {
      if (String(chunk) === 'slow') asked.resolve(() => socket.write('the late answer'));
      else socket.write(chunk);
    });
    socket.on('end', () => socket.end());
  });
  await using relayed = await startRelayed(gateway);
  const idle = await relayed.call();
  const busy = await relayed.call();
  expect(await echo(idle, 'quick', 'open')).toBe('quick');
  busy.write('slow');
  const answer = await asked.promise;
  relayed.program.child.kill('SIGTERM');
  await once(idle.resume(), 'end');
  await expect(callPort(relayed.program.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  answer();
  expect(String((await once(busy, 'data'))[0])).toBe('the late answer');
  expect(await relayed.program.ended).toBe(0);
  expect(relayed.program.output().trimEnd().split('\n').at(-1)).toMatch(/ SIGTERM$/);
});

function hello(token: Buffer): Hello {
  const nonce = Buffer.alloc(NONCE_BYTES, 1);
  return { type: 'hello', token, fresh: true, received: 0, nonce, signature: Buffer.alloc(SIGNATURE_BYTES) };
}
