/** Hostile connections to the gateway and to the relay's Pod: nothing crashes, memory stays bounded, and reviews pass. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { callPort, echo, listenAsGateway, startRelayed } from '../../support/relay/relayed.ts';
import { record, repeat, SOAK } from '../../support/repeat.ts';
import { type Bench, Controller, NAME, pair, setUp, until } from './support.ts';

const AT_ONCE = SOAK ? 50 : 10;
const ROUNDS = { soak: 200, quick: 3 };

const INTRUDERS = join(import.meta.dirname, '../../fixtures/gateway/intruders.mjs');
const WARM_UP = { soak: 40, quick: 2 };
/** What this process may hold more after the hostile connections than before, in MiB. */
const MOST_GROWN = 16;
/** What it may need more than before when its limits have been filled, in MiB. */
const MOST_FILLED = 500;

/** Another process, so that the memory of this one is the gateway's. */
async function startIntruders({
  gateway,
}: Bench): Promise<AsyncDisposable & { do(what: string): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-hostile-'));
  const certificate = join(directory, 'ca.pem');
  await writeFile(certificate, pair.certificate);
  const intruders = fork(INTRUDERS, [String(gateway.port), NAME, certificate, String(AT_ONCE)]);
  return {
    async do(what) {
      intruders.send(what);
      await once(intruders, 'message');
    },
    async [Symbol.asyncDispose]() {
      intruders.kill();
      await rm(directory, { recursive: true });
    },
  };
}

const memory = (): number => process.memoryUsage().rss / 2 ** 20;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** In MiB. V8 takes more and more room for garbage while connections come fast, and that is not held. */
function held(): number {
  collectGarbage();
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return (rss - heapTotal + heapUsed) / 2 ** 20;
}

it('the gateway survives hostile connections, and answers a review in between', async () => {
  await using bench = await setUp();
  await using intruders = await startIntruders(bench);
  const round = async (): Promise<void> => {
    await intruders.do('attack');
    expect((await bench.ask('/validate')).status).toBe(200);
  };
  await repeat('hostile connections at a gateway: rounds to warm up', WARM_UP, round);
  const before = held();
  await repeat(`hostile connections at a gateway: rounds of ${AT_ONCE}`, ROUNDS, round);
  const grown = held() - before;
  console.log(`what the gateway holds grew by ${grown.toFixed(0)} MiB`);
  expect(grown).toBeLessThan(MOST_GROWN);
});

it.runIf(SOAK)('memory has a bound, whatever fills the limits of the gateway', async () => {
  // Its controller is in this process, too, so its answers are short; the bound of long ones is tested in strangers.test.ts.
  const answer = Buffer.alloc(2 ** 18);
  await using bench = await setUp(new Controller((_, response) => response.end(answer)));
  await using intruders = await startIntruders(bench);
  const before = memory();
  await repeat('limits of a gateway, all filled one after the other', { soak: 3 }, async () => {
    await intruders.do('fill');
    expect((await bench.ask('/validate')).status).toBe(200);
    console.log(`memory of the gateway: ${before.toFixed(0)} MiB, and now ${memory().toFixed(0)} MiB`);
  });
  expect(memory() - before).toBeLessThan(MOST_FILLED);
});

it('strangers who fill the ports of the relay Pod, and keep coming, keep out neither the client nor callers', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway);
  const { program, cutter, events } = relayed;
  const started = performance.now();
  using strangers = startStrangers([
    { port: program.proxyPort, says: UPGRADE },
    { port: program.port, says: '' },
  ]);
  await strangers.areTurnedAway();
  await repeat('client cut off while strangers connect', { soak: 40, quick: 2 }, async () => {
    const lost = events.length;
    cutter.cut('reset');
    await strangers.areTurnedAway();
    expect(await echo(await callPort(program.port), 'here')).toBe('here');
    expect(events.slice(lost).filter((event) => event.type === 'error')).toEqual([]);
  });
  record('connections of strangers to a relay Pod', strangers.made, started);
});

const UPGRADE = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: devloop-relay\r\n\r\n';
/** At each port: more than a Pod keeps of those who do not prove who they are, or say nothing. */
const MOST_STRANGERS = 1_500;

interface Strangers extends Disposable {
  readonly made: number;
  /** Resolves once connections at each port were closed because others had come after them. */
  areTurnedAway(): Promise<void>;
}

/** Connects to these ports again and again, says so much to each, and leaves the connections open. */
function startStrangers(targets: { port: number; says: string }[]): Strangers {
  const places = targets.map((target) => ({ ...target, open: new Set<Socket>(), made: 0, closed: 0 }));
  const comeTo = (place: (typeof places)[number]): void => {
    // Some do not even ask.
    const says = place.made % 4 > 0 ? place.says : '';
    const socket = dial(place.port, '127.0.0.1')
      .on('error', () => {})
      .resume();
    if (says !== '') socket.write(says);
    place.made += 1;
    place.open.add(socket);
    socket.once('close', () => {
      place.open.delete(socket);
      place.closed += 1;
    });
  };
  const come = (most: number): void => {
    for (const place of places)
      for (let count = 0; count < most && place.open.size < MOST_STRANGERS; count++) comeTo(place);
  };
  come(MOST_STRANGERS);
  const timer = setInterval(come, 10, 10);
  return {
    get made() {
      return places.reduce((sum, { made }) => sum + made, 0);
    },
    async areTurnedAway() {
      const before = places.map(({ closed }) => closed);
      await until(() => places.every(({ closed }, index) => closed > before[index]! + 50), 60_000);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const { open } of places) for (const socket of open) socket.destroy();
    },
  };
}
