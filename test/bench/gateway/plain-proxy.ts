import { once } from 'node:events';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { KeyPair } from '../../../src/gateway/tls.ts';

/** Shows what is possible in Node: a proxy that only forwards complete requests and answers. */
export async function startPlainProxy(
  pair: KeyPair,
  controller: number,
): Promise<AsyncDisposable & { port: number }> {
  const agent = new Agent({ keepAlive: true });
  const to = { agent, host: '127.0.0.1', port: controller, method: 'POST', rejectUnauthorized: false };
  const server = createServer({ cert: pair.certificate, key: pair.key }, async (incoming, response) => {
    const body = Buffer.concat(await incoming.toArray());
    const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
    const outgoing = request({ ...to, path: incoming.url, headers }, async (answer) => {
      const answered = Buffer.concat(await answer.toArray());
      response.writeHead(answer.statusCode!, { 'Content-Length': answered.length }).end(answered);
    });
    outgoing.end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      agent.destroy();
    },
  };
}
