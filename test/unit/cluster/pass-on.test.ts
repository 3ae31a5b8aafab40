import { once } from 'node:events';
import { createServer, globalAgent } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { SelectedContext } from '../../../src/cluster/api/kubeconfig.ts';
import type { Login } from '../../../src/cluster/api/login.ts';
import { createForwarder, endToEnd } from '../../../src/cluster/api/pass-on.ts';
import { partly } from '../../support/partly.ts';

/** Answers with its name, and with what was requested. */
async function server(name: string): Promise<string> {
  const listening = createServer(({ url, headers }, response) =>
    response.end(`${name} ${url} ${headers.authorization}`),
  ).listen(0, '127.0.0.1');
  onTestFinished(() => void listening.close());
  await once(listening, 'listening');
  return `127.0.0.1:${(listening.address() as { port: number }).port}`;
}

test('the credentials go to the API server, whatever the path says', async () => {
  const [own, other] = [await server('own'), await server('other')];
  const login = partly<Login>({
    auth: { headers: { authorization: 'Bearer secret' } },
    forwarded: globalAgent,
    retriedWith: <T>(once: () => Promise<T>) => once(),
  });
  const { forward } = createForwarder({ server: `http://${own}` } as SelectedContext, login);
  const { signal } = new AbortController();
  for (const path of ['/api/v1/pods?watch=true', `//${other}/api`, `http://${other}/api`]) {
    const answer = await forward({ method: 'GET', path, headers: {}, body: Buffer.alloc(0), signal });
    expect(await text(answer)).toBe(`own ${path} Bearer secret`);
  }
});

test('headers that are about one connection, or that it names, go no further', () => {
  const kept = { accept: 'application/json', 'x-mine': '1' };
  const own = { connection: 'close, X-Hop', 'x-hop': '2', 'proxy-authorization': 'Basic x', te: 'trailers' };
  expect(endToEnd({ ...kept, ...own })).toEqual(kept);
});
