/** Faults of the tunnel, one after the other: what can recover does, what cannot says why, and nothing hangs. */
import { readdirSync } from 'node:fs';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Breaker, relayTo } from '../support/sshd/breaker.ts';
import {
  echo,
  exchange,
  listenHere,
  type OpenRoute,
  openRoute,
  type Target,
} from '../support/sshd/open-route.ts';
import { makeKey, startSshd, type TestSshd } from '../support/sshd/sshd.ts';

const OPEN = ['GatewayPorts yes'];
const HANG_MS = 30_000;

let sshd: TestSshd;
let target: Target;
let faults = 0;

beforeAll(async () => {
  sshd = await startSshd(OPEN);
  target = await listenHere(echo);
  // A dead connection is found within three seconds, so that many can be.
  await appendFile(
    join(sshd.dir, 'home/.ssh/config'),
    'Host *\n  ServerAliveInterval 1\n  ServerAliveCountMax 1\n',
  );
});

afterAll(async () => {
  await target?.[Symbol.asyncDispose]();
  await sshd?.[Symbol.asyncDispose]();
});

/** Repeats a fault. What takes longer than the limit is named. */
async function each(count: number, what: string, fault: (index: number) => Promise<void>): Promise<void> {
  for (let index = 0; index < count; index++) {
    const hung = Promise.withResolvers<never>();
    const timer = setTimeout(() => hung.reject(new Error(`HUNG: ${what}, number ${index + 1}`)), HANG_MS);
    try {
      await Promise.race([fault(index), hung.promise]);
    } catch (cause) {
      throw new Error(`${what}, number ${index + 1} of ${count}: ${(cause as Error).message}`, { cause });
    } finally {
      clearTimeout(timer);
    }
    faults++;
  }
}

/** The fault breaks the route; it comes back by itself, and carries. */
async function recovers(opened: OpenRoute, fault: () => unknown): Promise<void> {
  const from = opened.events.length;
  await fault();
  await opened.next('route.reconnected', from);
  await carries(opened);
}

async function carries({ route }: OpenRoute): Promise<void> {
  const answer = await exchange(sshd.address, route.portFor(target.port), 'hello');
  expect(String(answer)).toBe('hello');
}

async function failsWith(code: string, options: Parameters<typeof openRoute>[2]): Promise<void> {
  const opened = await openRoute(sshd, [target.port], options).catch((error: { code: string }) => error);
  if ('route' in opened) await opened[Symbol.asyncDispose]();
  expect(opened).toMatchObject({ code });
}

it('survives 100 killed sessions, and keeps nothing of them', async () => {
  await using opened = await openRoute(sshd, [target.port]);
  const kill = () => recovers(opened, () => sshd.killSessions());
  await each(20, 'session kill', kill);
  const before = openFiles();
  await each(80, 'session kill', kill);
  expect(openFiles()).toBeLessThanOrEqual(before + 3);
});

it('survives 50 restarts of sshd', async () => {
  await using opened = await openRoute(sshd, [target.port]);
  await each(50, 'restart of sshd', () => recovers(opened, () => sshd.restart(OPEN)));
});

it('survives 20 black holes', { timeout: 240_000 }, async () => {
  await using opened = await openRoute(sshd, [target.port]);
  await each(20, 'black hole', async (index) => {
    const from = opened.events.length;
    await sshd.network.cut();
    // Some end before anybody has noticed, some in the middle of the tries to come back.
    if (index % 4 === 0) await sleep(index * 50);
    else await opened.next('route.lost', from).then(() => sleep(index * 40));
    await sshd.network.mend();
    if (opened.events.length > from) await opened.next('route.reconnected', from);
    await carries(opened);
  });
});

it('survives 40 connections that are reset in the middle of the handshake', async () => {
  await using breaker = await relayTo(sshd.address, 22, sshd.network.hostIp);
  await using opened = await throughBreaker(breaker);
  await each(40, 'reset in the handshake', (index) =>
    recovers(opened, () => breaker.breakNext(1 + index * 60)),
  );
});

it('tells 20 ports that are in use', async () => {
  await using _ = await openRoute(sshd, [target.port], { port: 7443 });
  await each(20, 'port in use', () => failsWith('ssh.forwarding', { port: 7443 }));
});

it('works 10 times without sessions, and tells 10 times that forwarding is forbidden', async () => {
  await sshd.restart([...OPEN, 'MaxSessions 0']);
  await each(10, 'MaxSessions 0', async () => {
    await using opened = await openRoute(sshd, [target.port]);
    await carries(opened);
  });
  await sshd.restart([...OPEN, 'AllowTcpForwarding no']);
  await each(10, 'forwarding refused', () => failsWith('ssh.forwarding', {}));
  await sshd.restart(OPEN);
});

it('tells 10 times that a key is refused, and comes back once it is accepted after a drop', async () => {
  const authorized = join(sshd.dir, 'authorized_keys');
  const key = await readFile(authorized, 'utf8');
  await writeFile(authorized, '');
  await each(10, 'key refused', () => failsWith('ssh.auth', {}));
  await writeFile(authorized, key);
  await using opened = await openRoute(sshd, [target.port]);
  await carries(opened);
});

it('tells 10 times that the key of the host has changed', async () => {
  const path = join(sshd.dir, 'host_ed25519');
  const known = join(sshd.dir, 'home/.ssh/known_hosts');
  const before = await readFile(known, 'utf8');
  await each(10, 'changed host key', async () => {
    await rm(path);
    await makeKey(path);
    await sshd.restart();
    await failsWith('ssh.host-key', {});
  });
  const [type, key] = (await readFile(`${path}.pub`, 'utf8')).split(' ');
  await writeFile(known, `${sshd.address} ${type} ${key}\n`);
  expect(before).not.toBe(await readFile(known, 'utf8'));
});

it('tells 20 times that something else than SSH answers', async () => {
  const banners = [
    '',
    '\0\0\0\0',
    'SSH-',
    'SSH-2.0-x\r\n',
    'SSH-1.5-old\r\n',
    '220 mail\r\n',
    'x'.repeat(100_000),
  ];
  let index = 0;
  await using garbage = await answering((socket) => {
    const banner = banners[index++ % banners.length]!;
    socket.end(index % 2 ? banner : `${banner}${'\xff'.repeat(300)}`);
  });
  await each(20, 'garbage banner', () =>
    failsWith('ssh.unreachable', { to: `root@${sshd.network.hostIp}:${garbage.port}` }),
  );
});

it('gives up on a host that falls silent before or within the handshake', async () => {
  await using silent = await answering(() => undefined);
  await using half = await answering((socket) => socket.write('SSH-2.0-Half\r\n'));
  await each(1, 'silent host', async () => {
    await Promise.all(
      [silent, half].map(({ port }) =>
        failsWith('ssh.unreachable', { to: `root@${sshd.network.hostIp}:${port}` }),
      ),
    );
  });
  faults++;
});

it('has met at least 250 faults', () => {
  expect(faults).toBeGreaterThanOrEqual(250);
});

async function throughBreaker({ port }: Breaker): Promise<OpenRoute> {
  const config = join(sshd.dir, 'home/.ssh/config');
  await appendFile(
    config,
    `Host breaker\n  HostName ${sshd.network.hostIp}\n  HostKeyAlias ${sshd.address}\n`,
  );
  return openRoute(sshd, [target.port], { to: `root@breaker:${port}`, address: sshd.address });
}

async function answering(serve: (socket: Socket) => void): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, sshd.network.hostIp, resolve));
  return {
    port: (server.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function openFiles(): number {
  return readdirSync('/proc/self/fd').length;
}
