import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { answersTls, waitUntilReady } from '../../../src/controller/readiness.ts';
import { createForwarder } from '../../../src/gateway/forward.ts';
import { askForHandlers } from '../../../src/gateway/unserved-paths.ts';
import { NAME } from './support.ts';

const SERVER = join(import.meta.dirname, '../../fixtures/gateway/requires-certificate');
const { signal } = new AbortController();
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'devloop-mutual-'));
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' };
  execFileSync('go', ['build', '-o', join(folder, 'server'), '.'], { cwd: SERVER, env, stdio: 'pipe' });
  const pair = await selfSignedPair([NAME], { days: 1 });
  writeFileSync(join(folder, 'tls.crt'), pair.certificate);
  writeFileSync(join(folder, 'tls.key'), pair.key);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function serving(...settings: string[]): Promise<{ server: ChildProcess; port: number }> {
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  const server = spawn(join(folder, 'server'), [join(folder, 'tls'), ...settings], { stdio: [...stdio] });
  onTestFinished(() => void server.kill('SIGKILL'));
  const [line] = await once(server.stdout!, 'data');
  return { server, port: Number(String(line)) };
}

test.each([
  ['', []],
  [' and speaks only TLS 1.2', ['1.2']],
])('a server in Go that requires a client certificate%s is recognised', async (_, settings) => {
  const { server, port } = await serving(...settings);
  // It counts as ready, so that it is asked at once.
  await waitUntilReady(
    { pid: server.pid, exited: new Promise(() => {}), lastLines: () => [] },
    {
      ...{ webhook: { host: '127.0.0.1', port }, observeMs: 1, deadlineMs: 10_000, signal },
      ...{ listensOn: async () => true, onStranger: () => {} },
    },
  );
  const forwarder = createForwarder({ host: '127.0.0.1', port });
  onTestFinished(() => forwarder.close());
  const post = (to: { path: string; serverName: string }, body: Buffer) =>
    forwarder.post({ url: to.path, serverName: to.serverName, body, arriving: () => {} }, signal);
  const path = { path: '/validate', port, serverName: NAME, reviews: 'admission' } as const;
  for (const own of [undefined, post])
    expect(await askForHandlers([path], signal, own)).toEqual({
      ...{ unserved: [], unclear: [], wantsCertificate: true },
    });
});

test.each([
  ['requests a client certificate, but does not require it', 'requests', false],
  ['has no cipher in common with devloop', 'ciphers', true],
])('a server in Go that %s is not taken for one that requires it', async (_, setting, fails) => {
  const { port } = await serving('1.2', setting);
  const path = { path: '/validate', port, serverName: NAME, reviews: 'admission' } as const;
  const { wantsCertificate } = await askForHandlers([path], signal);
  expect(wantsCertificate).toBe(false);
  expect(await answersTls({ host: '127.0.0.1', port })).toBe(!fails);
});
