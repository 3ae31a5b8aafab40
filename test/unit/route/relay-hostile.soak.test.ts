/** Hostile connections to the relay's Pod: nothing crashes, memory stays bounded, and neither client nor callers are kept out. */
import { connect as dial, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { AT_ONCE, LITTLE_ROOM, memoryOf, startIntruders } from '../../support/intruders.ts';
import { RELAY_SOURCE } from '../../support/relay/program.ts';
import { callPort, echo, listenAsGateway, startRelayed } from '../../support/relay/relayed.ts';
import { record, repeat, SOAK } from '../../support/repeat.ts';
import { ask, NAME, pair, setUp, until } from '../gateway/support.ts';

const WARM_UP = { soak: 200, quick: 4 };
const ROUNDS = { soak: 240, quick: 3 };
/**
 * How many times as much memory the program may use after the hostile connections. After only a few connections, such a ratio says little.
 */
const MOST_GROWN = SOAK ? 1.1 : 1.5;

it("the relay's program survives hostile connections at all of its ports, and carries a review in between", async () => {
  await using bench = await setUp();
  const gateway = { address: () => ({ address: '127.0.0.1', family: 'IPv4', port: bench.gateway.port }) };
  const command = [process.execPath, LITTLE_ROOM, RELAY_SOURCE];
  await using relayed = await startRelayed(gateway, { command });
  const { program, events } = relayed;
  const ports = [program.port, program.proxyPort, program.controlPort];
  await using intruders = await startIntruders(ports, { name: NAME, pair });
  const round = async (): Promise<void> => {
    await intruders.do('attack');
    expect((await ask(program.port, '/validate')).status).toBe(200);
  };
  await repeat("hostile connections at a relay's Pod: rounds to warm up", WARM_UP, round);
  const before = await memoryOf(program.child);
  await repeat(`hostile connections at a relay's Pod: rounds of ${AT_ONCE}`, ROUNDS, round);
  const after = await memoryOf(program.child);
  console.log(`memory of the relay's program: ${before.toFixed(0)} MiB, and then ${after.toFixed(0)} MiB`);
  expect(after / before).toBeLessThan(MOST_GROWN);
  // The connection to its client was never lost.
  expect(events.filter(({ type }) => type === 'error' || type === 'route.lost')).toEqual([]);
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
/** At each port, more connections than a Pod keeps from clients that do not authenticate or send nothing. */
const MOST_STRANGERS = 1_500;

interface Strangers extends Disposable {
  readonly made: number;
  /** Resolves when connections at each port were closed because newer ones had come. */
  areTurnedAway(): Promise<void>;
}

/** Connects to these ports again and again, sends each this much, and leaves the connections open. */
function startStrangers(targets: { port: number; says: string }[]): Strangers {
  const places = targets.map((target) => ({ ...target, open: new Set<Socket>(), made: 0, closed: 0 }));
  const comeTo = (place: (typeof places)[number]): void => {
    // Some send no request at all.
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
