import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import {
  claimPort,
  portElsewhere,
  requireControllerPort,
  requirePermittedPort,
} from '../../../src/session/context/controller-port.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { directoryWith } from '../controller/support/places.ts';

test('a port that a process which looks ended still has for a moment is waited for', async () => {
  const machine = await thisMachine({ XDG_STATE_HOME: await directoryWith() });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await expect(requireControllerPort(port, machine)).rejects.toMatchObject({ code: 'port.in-use' });
  setTimeout(() => server.close(), 100);
  await requireControllerPort(port, machine);
});

test('a port of the controller of a session that keeps its state elsewhere is refused with that session', async () => {
  const other = await thisMachine({ XDG_STATE_HOME: await directoryWith() });
  const directory = await claimDirectory(other, 'abcd1234', { checkout: '/src/shop' });
  const listen = "const s = require('net').createServer().listen(0, () => console.log(s.address().port))";
  const env = { ...process.env, KUBECONFIG: join(directory, 'start-1/kubeconfig') };
  const controller = spawn(process.execPath, ['-e', listen], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void controller.kill('SIGKILL'));
  const [line] = await once(controller.stdout, 'data');
  const machine = await thisMachine({ XDG_STATE_HOME: await directoryWith() });
  await expect(requireControllerPort(Number(line), machine)).rejects.toMatchObject({
    code: 'port.in-use',
    message: expect.stringContaining('session abcd1234'),
    hint: expect.stringMatching('Ctrl-C .*/src/shop.*devloop down'),
  });
  await rm(directory, { recursive: true });
  await expect(requireControllerPort(Number(line), machine)).rejects.toMatchObject({
    hint: expect.stringContaining(`kill ${controller.pid}`),
  });
});

test('a controller listens on a free port where its own is in use, or is that of another one, which is said', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const other = await portElsewhere(port, {});
  expect(other).toEqual({
    port: expect.any(Number),
    because: expect.stringMatching(`port ${port} .*process ${process.pid} `),
  });
  expect(other!.port).not.toBe(port);
  await new Promise((resolve) => server.close(resolve));
  expect(await portElsewhere(port, {})).toBeUndefined();
  const claimed = new Map([[port, 'shop/a']]);
  expect(await portElsewhere(port, { claimed, deployment: 'shop/a' })).toBeUndefined();
  expect(await portElsewhere(port, { claimed, deployment: 'shop/b' })).toMatchObject({
    because: expect.stringContaining('shop/a'),
  });
});

const FIRST = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
const isLimited = process.platform === 'linux' && Number(await readFile(FIRST, 'utf8')) > 443;

test.runIf(isLimited)('a port that only root may use is refused before anything starts', async () => {
  const file = join(import.meta.dirname, '../../../src/session/context/controller-port.ts');
  const ask = `import(${JSON.stringify(file)})
    .then(({ requirePermittedPort }) => requirePermittedPort(443))
    .then(() => 'allowed', ({ code, hint }) => code + ', ' + hint)
    .then(console.log)`;
  const asking = [process.execPath, '-e', ask] as const;
  // Root without this one right.
  const limits = ['--inh-caps=-net_bind_service', '--bounding-set=-net_bind_service'];
  const [program, ...args] = process.getuid?.() === 0 ? (['setpriv', ...limits, ...asking] as const) : asking;
  const { stdout } = await promisify(execFile)(program, args);
  expect(stdout).toBe('port.not-allowed, sudo sysctl net.ipv4.ip_unprivileged_port_start=443\n');
  await requirePermittedPort(8443);
});

test('two Deployments whose controllers need the same port are refused before either listens', () => {
  const claimed = new Map<number, string>();
  claimPort(9443, { claimed, deployment: 'shop/a' });
  claimPort(9443, { claimed, deployment: 'shop/a' });
  claimPort(9444, { claimed, deployment: 'shop/b' });
  expect(() => claimPort(9443, { claimed, deployment: 'shop/b' })).toThrow(
    expect.objectContaining({ code: 'port.in-use', message: expect.stringMatching(/a and shop\/b .* 9443/) }),
  );
  // A session that is alone reserves nothing.
  claimPort(9443, { deployment: 'shop/c' });
});
