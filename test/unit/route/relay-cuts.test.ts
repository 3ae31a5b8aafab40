import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startRelayed } from '../../support/relay/relayed.ts';

const CLIENTS = 16;
const CUTS = 50;

it(`loses no request of ${CLIENTS} clients in ${CUTS} cuts`, { timeout: 60_000 }, async () => {
  await using gateway = await hashServer();
  await using relayed = await startRelayed(gateway.server);
  const done = new AbortController();
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    // Half of the clients open a new connection for each request, as kube-apiserver does after idle time.
    askAgainAndAgain(relayed.program.port, number % 2 === 0, done.signal),
  );
  for (let cut = 0; cut < CUTS; cut++) {
    await sleep(Math.random() * 60);
    const before = relayed.cutter.count;
    relayed.cutter.cut(cut % 2 === 0 ? 'reset' : 'end');
    // After a cut in a handshake, the next attempt to connect can be up to 5 s away.
    await expect.poll(() => relayed.cutter.count, { interval: 5, timeout: 10_000 }).toBeGreaterThan(before);
  }
  done.abort();
  const counts = await Promise.all(clients);
  expect(Math.min(...counts)).toBeGreaterThan(5);
  expect(gateway.served()).toBe(counts.reduce((total, count) => total + count, 0));
  // Attempts to reconnect that are cut, too, can take long enough to be reported. They lose nothing.
  const lost = relayed.events.filter(({ type }) => type === 'route.lost');
  expect(lost).not.toContainEqual(expect.objectContaining({ cause: expect.stringContaining('replaced') }));
});

/** Answers each request with the hash of its body, and counts them. */
async function hashServer() {
  let served = 0;
  const server: Server = createServer((asked, answer) => {
    void body(asked).then((bytes) => {
      served += 1;
      answer.end(hash(bytes));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    served: () => served,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends requests until the signal; returns their number. Throws at the first wrong answer or broken connection. */
async function askAgainAndAgain(port: number, keepAlive: boolean, signal: AbortSignal): Promise<number> {
  const agent = new Agent({ keepAlive, maxSockets: 1 });
  let count = 0;
  for (; !signal.aborted; count++) {
    const sent = randomBytes(200 + Math.floor(Math.random() * 50_000));
    const asked = request({ host: '127.0.0.1', port, method: 'POST', agent });
    asked.end(sent);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    expect(String(await body(answer))).toBe(hash(sent));
  }
  agent.destroy();
  return count;
}

async function body(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
