import { once } from 'node:events';
import { chmod, lstat, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { idToken } from '../../../src/cluster/api/oidc.ts';

const EXPIRED = ['e30', Buffer.from('{"exp":1}').toString('base64url'), 'x'].join('.');

/** An issuer that refreshes every token; a `talkative` one answers with 64 MiB. */
async function issuer({ talkative = false } = {}): Promise<string> {
  const server = createServer((request, response) => {
    if (talkative) return void Readable.from(longText()).pipe(response);
    const answer =
      request.method === 'POST'
        ? { id_token: 'new-id', refresh_token: 'new-refresh' }
        : { token_endpoint: `http://${request.headers.host}/token` };
    response.end(JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function kubeconfig(url: string): string {
  const config = `{idp-issuer-url: '${url}', client-id: me, id-token: ${EXPIRED}, refresh-token: old}`;
  return `# mine
current-context: a
clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {auth-provider: {name: oidc, config: ${config}}}}]
`;
}

function* longText(): Generator<string> {
  for (let at = 0; at < 1024; at++) yield 'x'.repeat(65_536);
}

test('the answer of an issuer that goes on and on is not read to its end', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-oidc-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'config');
  await writeFile(file, kubeconfig(await issuer({ talkative: true })));
  const selected = await loadKubeconfig({ kubeconfig: file }, {}, directory);
  await expect(idToken(selected, selected.user.authProvider!)).rejects.toThrow(/127\.0\.0\.1.*MiB/);
});

test('refreshed tokens are written into the file to which the kubeconfig links, with its mode and comments', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-oidc-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const [file, link] = [join(directory, 'real'), join(directory, 'config')];
  await writeFile(file, kubeconfig(await issuer()));
  // Set after the write, so that the umask does not matter.
  await chmod(file, 0o660);
  await symlink('real', link);
  const selected = await loadKubeconfig({ kubeconfig: link }, {}, directory);
  expect(await idToken(selected, selected.user.authProvider!)).toBe('new-id');
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect((await stat(file)).mode & 0o777).toBe(0o660);
  const text = await readFile(file, 'utf8');
  expect(text).toContain('# mine');
  expect(text).toContain('new-refresh');
});
