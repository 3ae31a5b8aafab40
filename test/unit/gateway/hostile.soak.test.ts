/** Hostile connections to the gateway and to the relay's Pod: nothing crashes, memory stays bounded, and reviews pass. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { callPort, echo, listenAsGateway, startRelayed } from '../../support/relay/relayed.ts';
import { repeat, SOAK } from '../../support/repeat.ts';
import { type Bench, Controller, NAME, pair, setUp } from './support.ts';

const AT_ONCE = SOAK ? 50 : 10;
const ROUNDS = { soak: 200, quick: 3 };

const INTRUDERS = join(import.meta.dirname, '../../fixtures/gateway/intruders.mjs');
const WARM_UP = { soak: 40, quick: 2 };
/** What this process may need more after the hostile connections than before, in MiB. */
const MOST_GROWN = 64;
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

it('the gateway survives hostile connections, and answers a review in between', async () => {
  await using bench = await setUp();
  await using intruders = await startIntruders(bench);
  const round = async (): Promise<void> => {
    await intruders.do('attack');
    expect((await bench.ask('/validate')).status).toBe(200);
  };
  await repeat('hostile connections at a gateway: rounds to warm up', WARM_UP, round);
  const before = memory();
  await repeat(`hostile connections at a gateway: rounds of ${AT_ONCE}`, ROUNDS, round);
  const grown = memory() - before;
  console.log(`memory of the gateway grew by ${grown.toFixed(0)} MiB`);
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
