/** Hostile connections to the gateway and to the relay's Pod: nothing crashes, memory stays bounded, and reviews pass. */
import { once } from 'node:events';
import { connect as dial, type Socket } from 'node:net';
import { connect as tlsDial } from 'node:tls';
import { expect, it } from 'vitest';
import { callPort, echo, listenAsGateway, startRelayed } from '../../support/relay/relayed.ts';
import { repeat, SOAK } from '../../support/repeat.ts';
import { NAME, pair, setUp } from './support.ts';

const AT_ONCE = SOAK ? 50 : 10;
const ROUNDS = { soak: 200, quick: 3 };

/** Reproducible: the same numbers in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

const PLAIN = [
  'GET / HTTP/1.1\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'SSH-2.0-x\r\n',
  '\0\0\0\0',
  '',
];
const INSIDE = [
  'POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n{',
  'POST /validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n{}',
  'POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{}',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0',
  'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'POST /devloop/probe/abcdefgh HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]',
  `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n`,
];

function mutated(text: string, next: (below: number) => number): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  for (let count = next(4); count > 0 && bytes.length > 0; count--) bytes[next(bytes.length)] = next(256);
  return bytes.subarray(0, bytes.length - (next(3) === 0 ? next(bytes.length + 1) : 0));
}

async function intrude(socket: Socket, bytes: Buffer, stayMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {}).resume();
  socket.write(bytes);
  const timer = setTimeout(() => socket.destroy(), stayMs);
  await closed;
  clearTimeout(timer);
}

async function insideTls(port: number): Promise<Socket> {
  const socket = tlsDial({ host: '127.0.0.1', port, servername: NAME, ca: pair.certificate });
  await once(socket, 'secureConnect');
  return socket;
}

it('the gateway survives hostile connections, and answers a review in between', async () => {
  await using bench = await setUp();
  const { port } = bench.gateway;
  const next = numbers(7);
  const attack = async (): Promise<void> => {
    const inside = next(3) > 0;
    const bytes = mutated(inside ? INSIDE[next(INSIDE.length)]! : PLAIN[next(PLAIN.length)]!, next);
    const socket = inside ? await insideTls(port) : dial(port, '127.0.0.1');
    await intrude(socket, bytes, 20 + next(60));
  };
  const round = async (): Promise<void> => {
    await Promise.all(Array.from({ length: AT_ONCE }, attack));
    expect((await bench.ask('/validate')).status).toBe(200);
  };
  await repeat('hostile connections at a gateway: rounds to warm up', { soak: 20 }, round);
  const before = process.memoryUsage().rss;
  await repeat(`hostile connections at a gateway: rounds of ${AT_ONCE}`, ROUNDS, round);
  const grownMiB = (process.memoryUsage().rss - before) / 2 ** 20;
  console.log(`memory grew by ${grownMiB.toFixed(0)} MiB, clients included`);
  // The clients are in this process too.
  expect(grownMiB).toBeLessThan(256);
});

it('strangers at 2,000 connections a second keep neither the client nor callers out of the relay Pod', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway);
  const { program, cutter, events } = relayed;
  const flood = startFlood([program.proxyPort, program.port]);
  const started = performance.now();
  await repeat('client cut off while strangers connect', { soak: 40, quick: 2 }, async () => {
    const lost = events.length;
    cutter.cut('reset');
    await expect
      .poll(async () => echo(await callPort(program.port), 'here'), { timeout: 30_000 })
      .toBe('here');
    expect(events.slice(lost).filter((event) => event.type === 'error')).toEqual([]);
  });
  const seconds = (performance.now() - started) / 1000;
  const made = flood.stop();
  console.log(`${made} connections of strangers in ${seconds.toFixed(1)} s`);
  expect(made).toBeGreaterThan(0);
});

/** Opens connections to these ports at up to 2,000 a second in all, and leaves them open for a while. */
function startFlood(ports: number[]): { stop(): number } {
  const open = new Set<Socket>();
  let made = 0;
  const timer = setInterval(() => {
    for (let count = 0; count < 20; count++) {
      const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: devloop-relay\r\n\r\n';
      const port = ports[made % ports.length]!;
      const socket = dial(port, '127.0.0.1').on('error', () => {});
      if (port === ports[0] && made % 4 > 0) socket.write(upgrade);
      open.add(socket);
      socket.once('close', () => open.delete(socket));
      made += 1;
      if (open.size > 3_000) [...open][0]!.destroy();
    }
  }, 10);
  return {
    stop() {
      clearInterval(timer);
      for (const socket of open) socket.destroy();
      return made;
    },
  };
}
