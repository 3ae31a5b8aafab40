import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listeningInodes, peerUsers } from '../../../src/machine/linux.ts';
import { isPortBusy, requireFreePort } from '../../../src/machine/port.ts';
import { portOwner } from '../../../src/machine/system.ts';
import { freePort } from '../../support/free-port.ts';

async function listenOn(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.address() as { port: number }).port;
}

test.each(['127.0.0.1', '0.0.0.0', '::'])('a listener on %s is found with its process', async (host) => {
  const port = await listenOn(host);
  expect(await isPortBusy(port)).toBe(true);
  expect(await portOwner(port)).toEqual({ pid: process.pid, name: expect.stringMatching(/\S/) });
  await expect(requireFreePort(port)).rejects.toMatchObject({
    code: 'port.in-use',
    message: expect.stringContaining(`process ${process.pid}`),
    hint: expect.stringMatching(new RegExp(`^End \\S+ first: kill ${process.pid}$`)),
  });
});

test('a port whose holder is ended first counts as free', async () => {
  const port = await freePort();
  const listen = `require('net').createServer().listen(${port}, () => console.log('listens'))`;
  const child = spawn(process.execPath, ['-e', listen], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  await requireFreePort(port, 0, [child.pid!]);
  await expect(requireFreePort(port, 0, [1])).rejects.toMatchObject({ code: 'port.in-use' });
});

test('the process that uses a port is named without its arguments', async () => {
  const port = await freePort();
  const listen = `require('net').createServer().listen(${port}, () => console.log('listens'))`;
  const child = spawn(process.execPath, ['-e', listen, '--', '--token=hidden'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const error = await requireFreePort(port).catch((thrown: unknown) => String(thrown));
  expect(error).toContain(`process ${child.pid}`);
  expect(error).not.toContain('hidden');
});

test('a free port has no owner', async () => {
  const port = await freePort();
  expect(await isPortBusy(port)).toBe(false);
  expect(await portOwner(port)).toBeUndefined();
  await requireFreePort(port);
});

test('only listeners count in the socket table of Linux', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:24E3 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0 100 0 0 10 0',
    '   1: 0100007F:24E3 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4243 1 0 20 4 30 10 -1',
    '   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4244 1 0 100 0 0 10 0',
    '',
  ].join('\n');
  expect(listeningInodes(table, 9443)).toEqual(['4242']);
  expect(listeningInodes(table, 80)).toEqual(['4244']);
  expect(listeningInodes('', 80)).toEqual([]);
});

test('finds the user at the other end of a connection in the tables of Linux', () => {
  const of = (local: string, remote: string, user: number, state = '01'): string =>
    `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${user}        0 4242 1`;
  const mapped = '0000000000000000FFFF00000100007F';
  const local = { address: '127.0.0.1', port: 0xc350 };
  const remote = { address: '127.0.0.1', port: 9443 };
  const users = (lines: string[], from = remote): number[] =>
    peerUsers(['  sl  local_address rem_address', ...lines].join('\n'), { local, remote: from });
  expect(users([of('0100007F:24E3', '0100007F:C350', 1001)])).toEqual([1001]);
  expect(users([of(`${mapped}:24E3`, `${mapped}:C350`, 1001)])).toEqual([1001]);
  const others = [
    of('0100007F:C350', '0100007F:24E3', 1000),
    of('0200007F:24E3', '0200007F:C350', 1002),
    of('0100007F:24E3', '0100007F:C351', 1003),
  ];
  expect(users(others)).toEqual([]);
  const elsewhere = [of('0100007F:24E3', '0100007F:C350', 1001), of('1F32007F:24E3', '0100007F:C350', 1002)];
  expect(users(elsewhere, { address: '127.0.50.31', port: 9443 })).toEqual([1002]);
  // Its program has closed it, so older kernels no longer know whose it was.
  expect(users([of('0100007F:24E3', '0100007F:C350', 0, '04')])).toEqual([]);
  expect(users([of('0100007F:24E3', '0100007F:C350', 0)])).toEqual([0]);
});
