import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { exitCause, exitedError } from '../../../src/controller/exit-cause.ts';
import { startController } from '../../../src/controller/process.ts';
import { answersTls, type ReadinessOptions, waitUntilReady } from '../../../src/controller/readiness.ts';
import { freePort } from '../../support/free-port.ts';
import { recordEvents } from './support/events.ts';
import { directoryWith, program } from './support/places.ts';

const NEVER = new AbortController().signal;

async function start(command: string[], options: Partial<ReadinessOptions> = {}) {
  const recorder = recordEvents();
  const strangers: string[] = [];
  const controller = startController({ command, cwd: await directoryWith(), env: {} }, recorder.emit);
  onTestFinished(async () => void (await controller.stop({ graceMs: 0 })));
  const ready = waitUntilReady(controller, {
    webhook: undefined,
    observeMs: 300,
    deadlineMs: 10_000,
    signal: NEVER,
    onStranger: (_, owner) => strangers.push(owner),
    ...options,
  });
  return { recorder, controller, ready, strangers };
}

test('a controller is ready when it answers TLS', async () => {
  const webhook = { host: '127.0.0.1', port: await freePort() };
  await (await start(program('listens-tls.mjs', webhook.port, 300), { webhook })).ready;
  expect(await answersTls(webhook)).toBe(true);
});

test('neither a closed port nor one without TLS answers', async () => {
  expect(await answersTls({ host: '127.0.0.1', port: await freePort() })).toBe(false);
  const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  expect(await answersTls({ host: '127.0.0.1', port: (server.address() as { port: number }).port })).toBe(
    false,
  );
});

test('a controller that has no certificate yet is asked less and less often, since it logs each failed handshake', async () => {
  let handshakes = 0;
  const server = createTlsServer(() => {});
  server.on('tlsClientError', () => handshakes++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const webhook = { host: '127.0.0.1', port: (server.address() as { port: number }).port };
  const { ready } = await start(['sleep', '60'], { webhook, deadlineMs: 1_500 });
  await expect(ready).rejects.toMatchObject({ code: 'controller.not-ready' });
  // Without pauses there would be more than two hundred: after a failed handshake, devloop looks why in a second one.
  expect(handshakes).toBeGreaterThan(0);
  expect(handshakes).toBeLessThan(60);
});

test('one whose port somebody else has taken in the meantime is not ready, but exits', async () => {
  const webhook = { host: '127.0.0.1', port: await freePort() };
  const other = await start(program('listens-tls.mjs', webhook.port), { webhook });
  await other.ready;
  const { ready, strangers } = await start(['sh', '-c', 'sleep 0.5; exit 4'], { webhook });
  await expect(ready).rejects.toMatchObject({ code: 'controller.exited' });
  expect(strangers).toEqual([]);
});

test('one that has a process outside its group serve the port is ready, and that process is named', async () => {
  const webhook = { host: '127.0.0.1', port: await freePort() };
  const { ready, strangers, controller } = await start(program('daemonizes-tls.mjs', webhook.port), {
    webhook,
  });
  await ready;
  const daemon = Number(controller.lastLines()[0]!.split(' ')[1]);
  onTestFinished(() => void process.kill(daemon, 'SIGKILL'));
  expect(strangers).toEqual([expect.stringContaining(`process ${daemon} `)]);
});

test('one whose child serves the port is ready, and nobody is named', async () => {
  const webhook = { host: '127.0.0.1', port: await freePort() };
  const command = ['sh', '-c', `"$@"; exit $?`, 'sh', ...program('listens-tls.mjs', webhook.port)];
  const { ready, strangers } = await start(command, { webhook });
  await ready;
  expect(strangers).toEqual([]);
});

test('one that exits first fails at once, with its last lines and the cause', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void holder.close());
  const { port } = holder.address() as { port: number };
  const complaint = `listen tcp 127.0.0.1:${port}: bind: address already in use`;
  const webhook = { host: '127.0.0.1', port: await freePort() };
  const { ready } = await start(program('exits-at-once.mjs', 1, complaint), { webhook });
  await expect(ready).rejects.toMatchObject({
    code: 'controller.exited',
    message: expect.stringContaining(complaint),
  });
  await expect(ready).rejects.toThrow(new RegExp(`port ${port} .*process ${process.pid}\\b`));
});

test('one that never listens is not ready at the deadline', async () => {
  const webhook = { host: '127.0.0.1', port: await freePort() };
  const { ready } = await start(program('ignores-sigterm.mjs'), { webhook, deadlineMs: 100 });
  await expect(ready).rejects.toMatchObject({ code: 'controller.not-ready', hint: expect.any(String) });
});

test('without webhooks it is ready when it keeps running', async () => {
  await (await start(program('ends-on-sigterm.mjs'))).ready;
  const { ready } = await start(program('exits-at-once.mjs', 2), { observeMs: 10_000 });
  await expect(ready).rejects.toThrow('exited with code 2');
});

test('an abort ends the wait with its reason', async () => {
  const end = new AbortController();
  const webhook = { host: '127.0.0.1', port: await freePort() };
  const { ready } = await start(program('ignores-sigterm.mjs'), { webhook, signal: end.signal });
  end.abort(new Error('enough'));
  await expect(ready).rejects.toThrow('enough');
});

test.each([
  ['listen tcp :9443: bind: address already in use', 'port 9443 is in use'],
  [
    'failed to start: open /tmp/serving-certs/tls.crt: no such file or directory',
    '/tmp/serving-certs/tls.crt',
  ],
  ['no matches for kind "Certificate" in version "cert-manager.io/v1"', 'Certificate in cert-manager.io/v1'],
  ['{"error":"no matches for kind \\"Widget\\" in version \\"a.b/v1\\""}', 'Widget in a.b/v1'],
  [
    'open /var/run/secrets/kubernetes.io/serviceaccount/namespace: no such file or directory',
    'a file that exists only in Pods',
  ],
  ['unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST', 'exists only in Pods'],
  ['listen tcp :443: bind: permission denied', 'port 443'],
  ['"error"="MkdirAll(/log) failed: mkdir /log: permission denied"', 'the directory /log'],
  ['unable to find leader election namespace: not running in-cluster', 'leader election'],
  ['could not launch process: fork/exec /x/controller-0: operation not permitted', 'to trace a process'],
  [
    "could not launch process: could not open debug info - debuggee must not be built with 'go run' or -ldflags='-s -w', which strip debug info",
    'without debug information',
  ],
  ['Version of Delve is too old for Go version go1.30 (maximum supported version 1.27)', 'does not support'],
])('%s', (line, message) => {
  expect(exitCause(['first', line, 'last'])?.message).toContain(message);
});

test.each([
  'WATCH_NAMESPACE must be set',
  'required key WATCH_NAMESPACE missing value',
  'panic: env: required environment variable "WATCH_NAMESPACE" is not set',
  'unable to get the namespace: missing environment variable: WATCH_NAMESPACE',
  'failed to start: please set the env var $WATCH_NAMESPACE',
  'Error: WATCH_NAMESPACE env var not found',
  'WATCH_NAMESPACE environment variable is empty',
])('a missing variable is named as the program names it: %s', (line) => {
  const cause = exitCause(['first', line, 'last']);
  expect(cause?.message).toContain('WATCH_NAMESPACE');
  expect(cause?.hint).toContain('{env: {WATCH_NAMESPACE: …}}');
});

test('a missing namespace names the variable that the program mentions beside the file', () => {
  const file = 'open /var/run/secrets/kubernetes.io/serviceaccount/namespace: no such file or directory';
  expect(exitCause(['SHOP_POD_NAMESPACE is unset, trying the file', file])?.hint).toContain(
    'SHOP_POD_NAMESPACE',
  );
  expect(exitCause([file])?.hint).toContain('OPERATOR_NAMESPACE');
});

test('the last known cause counts', () => {
  const lines = [
    'no matches for kind "Widget" in version "a.b/v1"',
    'listen tcp :9443: bind: address already in use',
  ];
  expect(exitCause(lines)?.message).toBe('port 9443 is in use');
});

test('other errors have no known cause', () => {
  expect(exitCause(['Error: something else'])).toBeUndefined();
});

test.each([
  'unable to retrieve the complete list of server APIs: batch/v1: devloop: this manager runs without a cluster',
  '{"error":"acquiring secret: failed to get restmapping: no matches for kind \\"Secret\\" in version \\"v1\\""}',
  'failed to get restmapping: no matches for kind "Secret" in group ""',
])('a manager that cannot start without a cluster: %s', (line) => {
  const cause = exitCause(['first', line, 'last']);
  expect(cause?.message).toContain('runs without a cluster');
  expect(cause?.hint).toMatch(/KUBEBUILDER_ASSETS.*\n.*--api-server/);
});

test('a panic after other errors is the cause', () => {
  const lines = ['devloop: this manager runs without a cluster', 'panic: no image', 'goroutine 1 [running]:'];
  expect(exitCause(lines)?.message).toBe('panic: no image');
});

test('a controller that printed nothing has no lines to see', async () => {
  const exit = { code: 1, signal: null };
  const { hint } = await exitedError(exit, []);
  expect(hint).toContain('--dry-run');
  expect((await exitedError(exit, ['panic: runtime error'])).hint).not.toBe(hint);
});
