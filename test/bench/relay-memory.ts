/** What a relayed connection costs, and whether memory stays flat: `node test/bench/relay-memory.ts [connections]`. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { callPort, listenAsGateway, portOf, startRelayed } from '../support/relay/relayed.ts';
import { median } from './measure.ts';

const CONNECTIONS = Number(process.argv[2] ?? 50_000);
const AT_ONCE = 16;
const QUESTION = Buffer.alloc(2048, 1);
const ANSWER = Buffer.alloc(1024, 2);

// As in a Pod with little memory: without limits, V8 takes three times as much before it collects.
const limits = ['--max-semi-space-size=2', '--max-old-space-size=64'];
const command = [process.execPath, ...limits, join(import.meta.dirname, '../../dist/relay.cjs')];
await using gateway = await listenAsGateway((socket) => {
  let missing = QUESTION.length;
  socket.on('data', (chunk) => {
    missing -= chunk.length;
    if (missing > 0) return;
    missing = QUESTION.length;
    socket.write(ANSWER);
  });
  socket.on('end', () => socket.end());
});
await using relayed = await startRelayed(gateway, { command });

for (const [name, port] of [
  ['direct', portOf(gateway)],
  ['relay', relayed.program.port],
] as const) {
  await ask(await callPort(port));
  const kept = await callPort(port);
  const keepAlive = await time(2000, () => ask(kept));
  kept.destroy();
  const fresh = await time(1000, () => oneConnection(port));
  console.log(`${name}: keep-alive p50 ${keepAlive} us, new connection p50 ${fresh} us`);
}

const start = performance.now();
for (let done = 0; done <= CONNECTIONS; done += CONNECTIONS / 10) {
  console.log(
    `after ${done}: program ${resident()} MB, here ${Math.round(process.memoryUsage.rss() / 1e6)} MB`,
  );
  if (done === CONNECTIONS) break;
  await Promise.all(Array.from({ length: AT_ONCE }, () => many(CONNECTIONS / 10 / AT_ONCE)));
}
console.log(`${Math.round(CONNECTIONS / ((performance.now() - start) / 1000))} connections/s`);

async function many(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await oneConnection(relayed.program.port);
}

async function oneConnection(port: number): Promise<void> {
  const socket = await callPort(port);
  await ask(socket);
  const closed = once(socket, 'close');
  socket.end();
  await closed;
}

async function ask(socket: Socket): Promise<void> {
  const answered = new Promise<void>((resolve) => {
    let missing = ANSWER.length;
    const read = (chunk: Buffer): void => {
      missing -= chunk.length;
      if (missing > 0) return;
      socket.off('data', read);
      resolve();
    };
    socket.on('data', read);
  });
  socket.write(QUESTION);
  await answered;
}

async function time(rounds: number, run: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    await run();
    times.push((performance.now() - start) * 1000);
  }
  return Math.round(median(times));
}

/** Resident memory of the program in MB. */
function resident(): number {
  const status = readFileSync(`/proc/${relayed.program.child.pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1000);
}
