import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** A module that no proxy has. With its hashes in go.sum, the go tool asks for it instead of complaining that there are none. */
export const MISSING = 'example.org/missing';
const HASH = `h1:${'A'.repeat(43)}=`;
export const MISSING_SUM = `${MISSING} v1.0.0 ${HASH}\n${MISSING} v1.0.0/go.mod ${HASH}\n`;

/** Longer than anything for which an answer waits. */
const LONGEST_MS = 20_000;

/**
 * Until the test ends, the go tool downloads from a proxy that has no module, and that answers when `mayAnswer` resolves. Returns the paths
 * that were requested.
 */
export async function emptyGoProxy(mayAnswer: Promise<void> = Promise.resolve()): Promise<string[]> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const limit = pause(LONGEST_MS, undefined, { ref: false });
    void Promise.race([mayAnswer, limit]).then(() => response.writeHead(404).end('not found'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  setForTest('GOPROXY', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return requests;
}

/** Sets a variable of this process until the test has ended. */
export function setForTest(name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}
