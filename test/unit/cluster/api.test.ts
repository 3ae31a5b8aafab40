import { X509Certificate } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KeyPair } from '../../../src/certificates/key-pair.ts';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { type ClusterApi, connect } from '../../../src/cluster/api/client.ts';
import { createCredentials } from '../../../src/cluster/api/credentials.ts';
import { connectionError, EMBEDDED_CONTEXT, isDenied, isTransient } from '../../../src/cluster/api/errors.ts';
import { loadKubeconfig, type SelectedContext } from '../../../src/cluster/api/kubeconfig.ts';
import { isRunning } from '../../support/is-running.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** The answer of /readyz. */
let readyz: () => number;

let pair: KeyPair;
let client: KeyPair;
let directory: string;
let server: Server;
let handler: Handler;
let connections: number;
let requests: string[];
const opened: ClusterApi[] = [];
const ref = { kind: 'ConfigMap', namespace: 'shop', name: 'x' } as const;

beforeAll(async () => {
  pair = await selfSignedPair(['localhost'], { days: 1 });
  client = await selfSignedPair(['someone'], { days: 1 });
});

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'devloop-api-'));
  connections = 0;
  requests = [];
  handler = (_request, response) => json(response, 200, { metadata: { name: 'x' } });
  readyz = () => 200;
  server = createServer(
    { key: pair.key, cert: pair.certificate, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      if (request.url === '/readyz') return json(response, readyz(), {});
      requests.push(`${request.method} ${request.url}`);
      handler(request, response);
    },
  );
  server.on('secureConnection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  for (const api of opened.splice(0)) await api[Symbol.asyncDispose]();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true, force: true });
});

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

interface Options {
  user?: object;
  cluster?: object;
  port?: number;
}

async function selected(options: Options): Promise<SelectedContext> {
  const { port } = server.address() as AddressInfo;
  const cluster = {
    server: `https://localhost:${options.port ?? port}`,
    'certificate-authority-data': base64(pair.certificate),
    ...options.cluster,
  };
  const file = join(directory, 'config');
  const text = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: options.user ?? { token: 'first' } }],
  };
  await writeFile(file, JSON.stringify(text));
  return await loadKubeconfig({ kubeconfig: file }, {}, directory);
}

async function api(options: Options = {}): Promise<ClusterApi> {
  const connected = await connect(await selected(options));
  opened.push(connected);
  return connected;
}

/** A credential plugin that prints the n-th credential in its n-th run, and the last one in all later runs. */
async function plugin(...credentials: object[]): Promise<object> {
  const command = join(directory, 'plugin');
  const answers = credentials.map((status) =>
    JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }),
  );
  for (const [index, answer] of answers.entries()) await writeFile(join(directory, `answer${index}`), answer);
  await writeFile(
    command,
    `#!/bin/sh\ncd ${directory}\nn=$(cat count 2>/dev/null || echo 0)\necho $((n+1)) > count\n[ -f answer$n ] || n=${answers.length - 1}\ncat answer$n\n`,
  );
  await chmod(command, 0o755);
  return { exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' } };
}

const past = '2020-01-01T00:00:00Z';

describe('connections', () => {
  it('are reused: many calls use one, a burst uses at most 24', async () => {
    const cluster = await api();
    for (let call = 0; call < 30; call++) await cluster.get(ref);
    expect(connections).toBe(1);
    await Promise.all(Array.from({ length: 60 }, () => cluster.get(ref)));
    expect(connections).toBeLessThanOrEqual(24);
  });

  it('closed by the server while idle do not break the next call', async () => {
    const cluster = await api();
    await cluster.get(ref);
    server.closeAllConnections();
    await expect(cluster.get(ref)).resolves.toBeDefined();
  });

  it('reset during a read are tried again, up to a limit', async () => {
    const cluster = await api();
    let resets = 1;
    handler = (request, response) =>
      resets-- > 0 ? request.socket.destroy() : json(response, 200, { metadata: { name: 'x' } });
    await expect(cluster.get(ref)).resolves.toBeDefined();
    expect(requests).toHaveLength(2);
    resets = 100;
    await expect(cluster.get(ref)).rejects.toMatchObject({ code: 'cluster.unreachable' });
    expect(requests.length).toBeLessThanOrEqual(10);
  });

  it('reset during a write are left to the caller, since the write may have happened', async () => {
    const cluster = await api();
    handler = (request) => request.socket.destroy();
    await expect(cluster.patch(ref, 'json', [])).rejects.toMatchObject({ code: 'cluster.unreachable' });
    await expect(cluster.create(ref, {})).rejects.toMatchObject({ code: 'cluster.unreachable' });
    expect(requests).toHaveLength(2);
  });

  it('without an answer after a long pause, as in a sleep, are not used again', async () => {
    const cluster = await api();
    await cluster.get(ref);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    await cluster.get(ref).finally(() => vi.useRealTimers());
    expect(connections).toBe(2);
  });

  it('that are dead cost a read ten seconds, and a second try over a new one', async () => {
    const cluster = await api();
    const sockets = new Set<unknown>();
    handler = (request, response) => {
      if (sockets.has(request.socket)) return;
      sockets.add(request.socket);
      json(response, 200, { metadata: { name: 'x' } });
    };
    await cluster.get(ref);
    await expect(cluster.get(ref)).resolves.toBeDefined();
    expect(connections).toBe(2);
  });

  it('cut in the middle of an answer are a failure', async () => {
    const cluster = await api();
    handler = (_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{"metadata":');
      setTimeout(() => response.destroy(), 10);
    };
    await expect(cluster.get(ref)).rejects.toMatchObject({ code: 'cluster.unreachable' });
  });
});

describe('a server that is away for a moment', () => {
  it.each([429, 500, 502, 503, 504])(
    'is asked again for reads and deletions after HTTP %i',
    async (status) => {
      const cluster = await api();
      await cluster.get(ref);
      let failures = 0;
      handler = (_request, response) =>
        failures++ % 2 === 0
          ? json(response, status, { message: 'not now' })
          : json(response, 200, { metadata: { name: 'x' }, items: [] });
      await expect(cluster.get(ref)).resolves.toBeDefined();
      await expect(cluster.list('Secret', 'shop')).resolves.toEqual([]);
      await expect(cluster.remove(ref)).resolves.toBe(true);
      expect(failures).toBe(6);
    },
  );

  it('is asked again for other writes after 429 alone, which says that nothing was done', async () => {
    const cluster = await api();
    const statuses = [429, 200, 503];
    handler = (_request, response) => {
      const status = statuses.shift()!;
      if (status === 429) response.setHeader('retry-after', '0');
      json(response, status, { message: 'not now', metadata: { name: 'x' } });
    };
    await expect(cluster.create(ref, {})).resolves.toBeDefined();
    await expect(cluster.create(ref, {})).rejects.toMatchObject({ status: 503 });
    expect(statuses).toEqual([]);
  });
});

it('each warning of an answer is passed on, whatever it contains', async () => {
  handler = (_request, response) => {
    response.setHeader('warning', [
      '299 - "one, \\"quoted\\" and \\\\"',
      '299 - "two", 299 k8s "three"',
      '110 - "old"',
    ]);
    json(response, 201, { metadata: { name: 'x' } });
  };
  const warnings: string[] = [];
  await (await api()).create(ref, {}, { onWarning: (text) => warnings.push(text) });
  expect(warnings).toEqual(['one, "quoted" and \\', 'two', 'three']);
});

describe('credentials', () => {
  const accepts =
    (token: string): Handler =>
    (request, response) =>
      request.headers.authorization === `Bearer ${token}`
        ? json(response, 200, { metadata: { name: 'x' } })
        : json(response, 401, { message: 'Unauthorized' });

  it('are read again from a kubeconfig that was written again, whatever its current context is by then', async () => {
    const cluster = await api();
    handler = accepts('first');
    await cluster.get(ref);
    const file = join(directory, 'config');
    const config = JSON.parse(await readFile(file, 'utf8'));
    config.users[0].user.token = 'second';
    config['current-context'] = 'another';
    await writeFile(file, JSON.stringify(config));
    handler = accepts('second');
    await expect(cluster.create(ref, {})).resolves.toBeDefined();
  });

  it('of another server that the kubeconfig names now are not used', async () => {
    const cluster = await api();
    const file = join(directory, 'config');
    const config = JSON.parse(await readFile(file, 'utf8'));
    config.users[0].user.token = 'second';
    config.clusters[0].cluster.server = 'https://another.invalid:6443';
    await writeFile(file, JSON.stringify(config));
    handler = accepts('second');
    await expect(cluster.get(ref)).rejects.toMatchObject({
      code: 'cluster.unauthorized',
      message: expect.stringContaining('https://another.invalid:6443'),
    });
  });

  it('of a plugin are made once for many calls, and once more when many are rejected at the same time', async () => {
    // Without a time of expiry, the library would keep the first credential.
    const cluster = await api({ user: await plugin({ token: 'old' }, { token: 'new' }) });
    const runs = async (): Promise<number> => Number(await readFile(join(directory, 'count'), 'utf8'));
    handler = accepts('old');
    for (let call = 0; call < 5; call++) await cluster.get(ref);
    expect(await runs()).toBe(1);
    handler = accepts('new');
    await Promise.all(Array.from({ length: 8 }, () => cluster.get(ref)));
    expect(await runs()).toBe(2);
  });

  it('that stay rejected do not run the plugin at each call', async () => {
    const cluster = await api({ user: await plugin({ token: 'old' }) });
    handler = accepts('another');
    for (let call = 0; call < 5; call++)
      await expect(cluster.get(ref)).rejects.toMatchObject({ code: 'cluster.unauthorized' });
    const runs = async (): Promise<string> => (await readFile(join(directory, 'count'), 'utf8')).trim();
    expect(await runs()).toBe('2');
    await expect(cluster.logIn()).rejects.toMatchObject({ code: 'cluster.unauthorized' });
    expect(await runs()).toBe('3');
    handler = accepts('old');
    await cluster.logIn();
    await cluster.get(ref);
    expect(await runs()).toBe('3');
  });

  it('of a plugin are renewed once when they have expired', async () => {
    const cluster = await api({
      user: await plugin(
        { token: 'old', expirationTimestamp: past },
        { token: 'new', expirationTimestamp: '2099-01-01T00:00:00Z' },
      ),
    });
    handler = (request, response) =>
      request.headers.authorization === 'Bearer new'
        ? json(response, 200, { metadata: { name: 'x' } })
        : json(response, 401, { message: 'Unauthorized' });
    await expect(cluster.create(ref, {})).resolves.toBeDefined();
    await cluster.get(ref);
    expect(requests).toHaveLength(3);
    expect((await readFile(join(directory, 'count'), 'utf8')).trim()).toBe('2');
  });

  it('with a renewed client certificate use a new connection', async () => {
    const old = await selfSignedPair(['old'], { days: 1 });
    const status = (one: KeyPair, expirationTimestamp: string) => ({
      clientCertificateData: one.certificate,
      clientKeyData: one.key,
      expirationTimestamp,
    });
    const cluster = await api({
      user: await plugin(status(old, past), status(client, '2099-01-01T00:00:00Z')),
    });
    const wanted = new X509Certificate(client.certificate).fingerprint256;
    handler = (request, response) => {
      const peer = (request.socket as import('node:tls').TLSSocket).getPeerCertificate();
      json(response, peer.fingerprint256 === wanted ? 200 : 401, { metadata: { name: 'x' } });
    };
    await expect(cluster.get(ref)).resolves.toBeDefined();
    const open = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
    await expect.poll(open).toBe(1);
  });

  it('that are rejected twice are cluster.unauthorized, with a hint', async () => {
    const cluster = await api();
    handler = (_request, response) => json(response, 401, { message: 'Unauthorized' });
    await expect(cluster.get(ref)).rejects.toMatchObject({
      code: 'cluster.unauthorized',
      hint: expect.stringContaining('--context test'),
    });
    expect(requests).toHaveLength(2);
  });

  it.each([
    [
      'webhook',
      'limits.policy',
      'admission webhook "limits.policy" denied the request: Unauthorized',
      // A webhook can make up causes.
      "ValidatingAdmissionPolicy 'evil' denied request: no",
    ],
    [
      'ValidatingAdmissionPolicy',
      'limits.policy',
      "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'limits.policy' with binding 'b' denied request: no",
      "ValidatingAdmissionPolicy 'limits.policy' with binding 'b' denied request: no",
    ],
    [
      'MutatingAdmissionPolicy',
      'limits.policy',
      "policy 'limits.policy' with binding 'b' denied request: no",
      "policy 'limits.policy' with binding 'b' denied request: no",
    ],
  ])('are not what a %s denies with HTTP 401: that is an answer, whose hint names it', async (...given) => {
    const [kind, name, message, cause] = given;
    const cluster = await api({ user: await plugin({ token: 'old' }) });
    const details = { causes: [{ message: cause }] };
    handler = (_request, response) => json(response, 401, { message, reason: 'Unauthorized', details });
    const denied = { code: 'cluster.rejected', status: 401, message, denier: { kind, name } };
    const refusal = await cluster.create(ref, {}).catch((error) => error);
    expect(refusal).toMatchObject({ ...denied, hint: expect.stringContaining(name) });
    expect(isDenied(refusal)).toBe(true);
    expect(requests).toHaveLength(1);
    expect((await readFile(join(directory, 'count'), 'utf8')).trim()).toBe('1');
  });

  it('of a plugin that does not exist are refused with its name, and how to install it', async () => {
    const command = join(directory, 'absent');
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
    const message = expect.stringContaining(command);
    const hint = expect.stringContaining('kubectl --context test auth whoami');
    const refused = { code: 'cluster.unauthorized', message, hint };
    await expect(api({ user: { exec } })).rejects.toMatchObject(refused);
    const installHint = 'Install it with: apt-get install absent\n';
    await expect(api({ user: { exec: { ...exec, installHint } } })).rejects.toMatchObject({
      ...{ code: 'cluster.unauthorized', hint: installHint.trim() },
    });
  });

  it('of a plugin that prints more than a credential are refused, and the plugin is ended', async () => {
    const { exec } = (await plugin({})) as { exec: { command: string } };
    const print = 'head -c 67108864 /dev/zero; exec sleep 5';
    await writeFile(exec.command, `#!/bin/sh\ncd ${directory}\necho $$ > pid\n${print}\n`);
    await expect(api({ user: { exec } })).rejects.toMatchObject({
      ...{ code: 'cluster.unauthorized', message: expect.stringContaining('MiB') },
    });
    const pid = Number(await readFile(join(directory, 'pid'), 'utf8'));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it('of a plugin that does not answer are given up after a while, and asked for again', async () => {
    const user = await plugin({ token: 'first' });
    const { command } = (user as { exec: { command: string } }).exec;
    await writeFile(command, `#!/bin/sh\ncd ${directory}\n[ -f fast ] || exec sleep 3\ncat answer0\n`);
    const slow = await selected({ user });
    await expect(createCredentials(slow, {}, 300)).rejects.toMatchObject({
      code: 'cluster.unauthorized',
      message: expect.stringMatching(new RegExp(`${command}.* 0\\.3 s`)),
    });
    await writeFile(join(directory, 'fast'), '');
    const { current } = await createCredentials(slow, {}, 2_000);
    expect(current.headers).toMatchObject({ Authorization: 'Bearer first' });
  });

  it('of a plugin that waits for the user come once the user has seen what it printed', async () => {
    const user = await plugin({ token: 'first' });
    const { command } = (user as { exec: { command: string } }).exec;
    const wait = 'until [ -f entered ]; do sleep 0.05; done';
    await writeFile(command, `#!/bin/sh\ncd ${directory}\necho "code: 1234" >&2\n${wait}\ncat answer0\n`);
    const lines: string[] = [];
    const onLine = (line: string): void => {
      lines.push(line);
      void writeFile(join(directory, 'entered'), '');
    };
    const { current } = await createCredentials(await selected({ user }), { onLine });
    expect(current.headers).toMatchObject({ Authorization: 'Bearer first' });
    expect(lines).toEqual(['code: 1234']);
  });

  it('from an expired client certificate are reported as such', async () => {
    const { key, certificate } = await selfSignedPair(['me'], { days: -1 });
    await writeFile(join(directory, 'key.pem'), key);
    await writeFile(join(directory, 'expired.pem'), certificate);
    const cluster = await api({ user: { 'client-certificate': 'expired.pem', 'client-key': 'key.pem' } });
    handler = (_request, response) => json(response, 401, { message: 'Unauthorized' });
    await expect(cluster.get(ref)).rejects.toMatchObject({
      code: 'cluster.unauthorized',
      message: expect.stringMatching(/client certificate expired/),
    });
  });
});

describe('a server that has just started', () => {
  /** The server knows its roles after it was asked this many times whether it is ready. */
  function starting(questions: number, status: number): void {
    let left = questions;
    readyz = () => (left-- > 0 ? status : 200);
    handler = (_request, response) => {
      if (left <= 0) json(response, 200, { metadata: { name: 'x' } });
      else json(response, 403, { message: 'forbidden: User "me" cannot do that', reason: 'Forbidden' });
    };
  }

  it.each([403, 500])('is asked again while its readiness is %i', async (status) => {
    const cluster = await api();
    starting(2, status);
    await expect(cluster.get(ref)).resolves.toBeDefined();
  });

  it('is an error that may pass for a write', async () => {
    const cluster = await api();
    starting(1, 403);
    const error = await cluster.create(ref, {}).catch((thrown) => thrown);
    expect(error).toMatchObject({ status: 503, message: expect.stringContaining('has just started') });
    expect(isTransient(error)).toBe(true);
  });

  it.each([200, 404])('is none if its readiness is %i: the account lacks a permission', async (status) => {
    const cluster = await api();
    starting(9, status);
    await expect(cluster.get(ref)).rejects.toMatchObject({ code: 'cluster.forbidden', status: 403 });
  });
});

describe('a server that cannot be reached', () => {
  it('is reported with the next command when nothing listens', async () => {
    const cluster = await api({ port: 1 });
    await expect(cluster.get(ref)).rejects.toMatchObject({
      code: 'cluster.unreachable',
      hint: expect.stringContaining('kubectl --context test get --raw /version'),
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('is one that has ended with its session of up --embedded, if the kubeconfig is of that', () => {
    const selected = { context: EMBEDDED_CONTEXT, server: 'https://127.0.0.1:1' } as SelectedContext;
    expect(connectionError(selected, new Error('ECONNREFUSED'))).toMatchObject({
      code: 'cluster.unreachable',
      hint: expect.stringContaining('unset KUBECONFIG'),
    });
  });

  it('is reported when its name is unknown', async () => {
    const cluster = await api({ cluster: { server: 'https://no-such-host.invalid:6443' } });
    await expect(cluster.get(ref)).rejects.toMatchObject({
      code: 'cluster.unreachable',
      message: expect.stringContaining('no-such-host.invalid'),
    });
  });

  it('is reported when its certificate is not trusted, or for another name', async () => {
    const untrusted = await api({ cluster: { 'certificate-authority-data': base64(client.certificate) } });
    await expect(untrusted.get(ref)).rejects.toMatchObject({
      code: 'cluster.unreachable',
      hint: expect.stringContaining('certificate'),
    });
    const { port } = server.address() as AddressInfo;
    const misnamed = await api({ cluster: { server: `https://127.0.0.1:${port}` } });
    await expect(misnamed.get(ref)).rejects.toMatchObject({
      code: 'cluster.unreachable',
      hint: expect.stringContaining('certificate'),
    });
  });

  it('is kubeconfig.invalid when the key is invalid, or belongs to another certificate', async () => {
    for (const key of ['nothing', pair.key]) {
      const user = {
        'client-certificate-data': base64(client.certificate),
        'client-key-data': base64(key),
      };
      const message = expect.stringContaining('client certificate');
      await expect(api({ user })).rejects.toMatchObject({ code: 'kubeconfig.invalid', message });
    }
  });

  it('is kubeconfig.invalid when its address has another scheme', async () => {
    await expect(api({ cluster: { server: 'ftp://localhost:6443' } })).rejects.toMatchObject({
      code: 'kubeconfig.invalid',
    });
  });
});

describe('answers', () => {
  it('with 404 are undefined for a read, false for a deletion, and an error otherwise', async () => {
    const cluster = await api();
    handler = (_request, response) =>
      json(response, 404, { reason: 'NotFound', message: 'configmaps "x" not found' });
    expect(await cluster.get(ref)).toBeUndefined();
    expect(await cluster.remove(ref, 'uid')).toBe(false);
    await expect(cluster.patch(ref, 'merge', {})).rejects.toMatchObject({
      status: 404,
      reason: 'NotFound',
      message: 'configmaps "x" not found',
    });
  });

  it('with 404 that are not of the API server say nothing about an object', async () => {
    const cluster = await api();
    handler = (_request, response) => response.writeHead(404).end('404 page not found');
    const error = await cluster.get(ref).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'cluster.rejected',
      message: expect.stringContaining('404 page not found'),
    });
    expect(isTransient(error)).toBe(true);
    await expect(cluster.remove(ref)).rejects.toMatchObject({ code: 'cluster.rejected' });
  });

  it('delete nothing when the uid is another one', async () => {
    const cluster = await api();
    let body = '';
    handler = (request, response) => {
      if (request.method === 'GET') return json(response, 200, { metadata: { name: 'x', uid: 'u-2' } });
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => json(response, 409, { reason: 'Conflict', message: 'uid' }));
    };
    expect(await cluster.remove(ref, 'u-1')).toBe(false);
    expect(JSON.parse(body)).toMatchObject({ kind: 'DeleteOptions', preconditions: { uid: 'u-1' } });
  });

  it.each([404, 409])('with %d to a deletion are not believed while the object is there', async (status) => {
    const cluster = await api();
    let refusals = 1;
    handler = (request, response) => {
      if (request.method === 'DELETE' && refusals-- > 0) return json(response, status, { message: 'no' });
      json(response, 200, { metadata: { name: 'x', uid: 'u-1' } });
    };
    expect(await cluster.remove(ref, 'u-1')).toBe(true);
    expect(requests.map((one) => one.split(' ')[0])).toEqual(['DELETE', 'GET', 'DELETE']);
    refusals = 10;
    await expect(cluster.remove(ref)).rejects.toMatchObject({
      code: 'cluster.rejected',
      message: expect.stringContaining('ConfigMap shop/x'),
    });
  });

  it('of refusals keep status and reason', async () => {
    const cluster = await api();
    handler = (_request, response) => json(response, 403, { reason: 'Forbidden', message: 'no' });
    await expect(cluster.list('Secret', 'shop')).rejects.toMatchObject({ status: 403, reason: 'Forbidden' });
  });

  it('does not ask for a permission where the namespace is being deleted', async () => {
    const cluster = await api();
    const message = 'unable to create new content in namespace shop because it is being terminated';
    const details = {
      causes: [{ reason: 'NamespaceTerminating', message: 'namespace shop is being terminated' }],
    };
    handler = (_request, response) => json(response, 403, { reason: 'Forbidden', message, details });
    await expect(cluster.create(ref, {})).rejects.toMatchObject({
      code: 'cluster.rejected',
      status: 403,
      hint: expect.stringContaining('namespace is being deleted'),
    });
  });

  it('that are not JSON are quoted in the error, for success and failure', async () => {
    const cluster = await api();
    handler = (_request, response) => response.writeHead(200).end('<html>Log in</html>');
    await expect(cluster.get(ref)).rejects.toMatchObject({
      code: 'cluster.rejected',
      message: expect.stringContaining('<html>Log in'),
    });
    handler = (_request, response) => response.writeHead(502).end('Bad Gateway');
    await expect(cluster.get(ref)).rejects.toMatchObject({
      status: 502,
      message: expect.stringContaining('Bad Gateway'),
    });
  });

  it.each([{}, [], null, 'text', { items: 7 }, { items: [{}] }, { metadata: {} }])(
    'of another kind are an error, not a missing object: %j',
    async (answer) => {
      const cluster = await api();
      handler = (_request, response) => json(response, 200, answer);
      await expect(cluster.get(ref)).rejects.toMatchObject({ code: 'cluster.rejected' });
      await expect(cluster.list('Secret', 'shop')).rejects.toMatchObject({ code: 'cluster.rejected' });
      await expect(cluster.patch(ref, 'merge', {})).rejects.toMatchObject({ code: 'cluster.rejected' });
    },
  );

  it('that are empty are an error, not a missing object', async () => {
    const cluster = await api();
    handler = (_request, response) => response.writeHead(200).end();
    await expect(cluster.get(ref)).rejects.toMatchObject({ code: 'cluster.rejected' });
    await expect(cluster.list('Secret', 'shop')).rejects.toMatchObject({ code: 'cluster.rejected' });
  });

  it('can be big, with characters that span chunks', async () => {
    const cluster = await api();
    const items = Array.from({ length: 20_000 }, (_, index) => ({
      metadata: { name: `ä€𝄞-${index}` },
      data: { text: 'x'.repeat(300) },
    }));
    handler = (_request, response) => json(response, 200, { items });
    const listed = await cluster.list('ConfigMap', undefined);
    expect(listed).toHaveLength(20_000);
    expect(listed.at(-1)!.metadata.name).toBe('ä€𝄞-19999');
  });
});

describe('requests', () => {
  it("end with the signal's reason", async () => {
    const cluster = await api();
    handler = () => {};
    const ending = new AbortController();
    const reading = cluster.get(ref, { signal: ending.signal });
    setTimeout(() => ending.abort(new Error('enough')), 50);
    await expect(reading).rejects.toThrow('enough');
    await expect(cluster.get(ref, { signal: ending.signal })).rejects.toThrow('enough');
  });

  it('are sent to the path below that of the server, with query and content type', async () => {
    const { port } = server.address() as AddressInfo;
    const cluster = await api({ cluster: { server: `https://localhost:${port}/k8s/clusters/c-1/` } });
    let type: string | undefined;
    handler = (request, response) => {
      type = request.headers['content-type'];
      json(response, 200, { items: [], metadata: { name: 'x' } });
    };
    await cluster.list('Service', 'a b', { query: { labelSelector: 'devloop.dev/session=s1' } });
    await cluster.patch(ref, 'json', []);
    expect(type).toBe('application/json-patch+json');
    expect(requests).toEqual([
      'GET /k8s/clusters/c-1/api/v1/namespaces/a%20b/services?labelSelector=devloop.dev%2Fsession%3Ds1',
      'PATCH /k8s/clusters/c-1/api/v1/namespaces/shop/configmaps/x',
    ]);
  });
});
