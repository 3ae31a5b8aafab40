/** Faults of the tunnel, one after another: what can recover does so, what cannot says why, and nothing hangs. */
import { readdirSync } from 'node:fs';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { repeat, SOAK } from '../support/repeat.ts';
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

let sshd: TestSshd;
let target: Target;

beforeAll(async () => {
  sshd = await startSshd(OPEN);
  target = await listenHere(echo);
  // A dead connection is noticed within three seconds, so that many faults fit into a run.
  await appendFile(
    join(sshd.dir, 'home/.ssh/config'),
    'Host *\n  ServerAliveInterval 1\n  ServerAliveCountMax 1\n',
  );
});

beforeEach(() => sshd.restart(OPEN));

afterAll(async () => {
  await target?.[Symbol.asyncDispose]();
  await sshd?.[Symbol.asyncDispose]();
});

/** The fault breaks the route; the route reconnects by itself, and carries reviews again. */
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

it('survives killed sessions, and keeps nothing of them', async () => {
  await using opened = await openRoute(sshd, [target.port]);
  const kill = () => recovers(opened, () => sshd.killSessions());
  await repeat('session killed', { soak: 20 }, kill);
  const before = openFiles();
  await repeat('session killed', { soak: 80, quick: 4 }, kill);
  expect(openFiles()).toBeLessThanOrEqual(before + 3);
});

it('survives restarts of sshd', async () => {
  await using opened = await openRoute(sshd, [target.port]);
  await repeat('sshd restarted', { soak: 50 }, () => recovers(opened, () => sshd.restart(OPEN)));
});

it('survives black holes', async () => {
  await using opened = await openRoute(sshd, [target.port]);
  await repeat('black hole', { soak: 20, quick: 2 }, async (index) => {
    const from = opened.events.length;
    await sshd.network.cut();
    // Some cuts end before they are noticed, and some in the middle of the attempts to reconnect.
    if (index % 4 === 0) await sleep(index * 50);
    else await opened.next('route.lost', from).then(() => sleep(index * 40));
    await sshd.network.mend();
    if (opened.events.length > from) await opened.next('route.reconnected', from);
    await carries(opened);
  });
});

it.runIf(SOAK).each([5, 15, 60])(
  'survives a black hole of %i s, as of a machine that sleeps',
  async (seconds) => {
    await using opened = await openRoute(sshd, [target.port]);
    await repeat(`black hole of ${seconds} s`, { soak: 7 }, () =>
      recovers(opened, async () => {
        await sshd.network.cut();
        await sleep(seconds * 1000);
        await sshd.network.mend();
      }),
    );
  },
);

it('survives connections that are reset in the middle of the handshake', async () => {
  await using breaker = await relayTo(sshd.address, 22, sshd.network.hostIp);
  await using opened = await throughBreaker(breaker);
  await repeat('reset in the handshake', { soak: 40, quick: 4 }, (index) =>
    recovers(opened, () => breaker.breakNext(1 + index * (SOAK ? 60 : 600))),
  );
});

it('reports a port that is in use', async () => {
  await using _ = await openRoute(sshd, [target.port], { port: 7443 });
  await repeat('port in use', { soak: 20 }, () => failsWith('ssh.forwarding', { port: 7443 }));
});

it('works without sessions', async () => {
  await sshd.restart([...OPEN, 'MaxSessions 0']);
  await repeat('MaxSessions 0', { soak: 10 }, async () => {
    await using opened = await openRoute(sshd, [target.port]);
    await carries(opened);
  });
});

it('reports that forwarding is forbidden', async () => {
  await sshd.restart([...OPEN, 'AllowTcpForwarding no']);
  await repeat('forwarding refused', { soak: 10 }, () => failsWith('ssh.forwarding', {}));
});

it('reports a key that is refused, and comes back once it is accepted after a drop', async () => {
  const authorized = join(sshd.dir, 'authorized_keys');
  const key = await readFile(authorized, 'utf8');
  await writeFile(authorized, '');
  await repeat('key refused', { soak: 10 }, () => failsWith('ssh.auth', {}));
  await writeFile(authorized, key);
  await using opened = await openRoute(sshd, [target.port]);
  await carries(opened);
});

it('reports that the key of the host has changed', async () => {
  const path = join(sshd.dir, 'host_ed25519');
  const known = join(sshd.dir, 'home/.ssh/known_hosts');
  const before = await readFile(known, 'utf8');
  await repeat('host key changed', { soak: 10 }, async () => {
    await rm(path);
    await makeKey(path);
    await sshd.restart();
    await failsWith('ssh.host-key', {});
  });
  const [type, key] = (await readFile(`${path}.pub`, 'utf8')).split(' ');
  await writeFile(known, `${sshd.address} ${type} ${key}\n`);
  expect(before).not.toBe(await readFile(known, 'utf8'));
});

it('reports that something else than SSH answers', async () => {
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
  await repeat('banner that is not SSH', { soak: 20, quick: banners.length }, () =>
    failsWith('ssh.unreachable', { to: `root@${sshd.network.hostIp}:${garbage.port}` }),
  );
});

it('gives up on a host that falls silent before or within the handshake', async () => {
  await using silent = await answering(() => undefined);
  await using half = await answering((socket) => socket.write('SSH-2.0-Half\r\n'));
  await Promise.all(
    [silent, half].map(({ port }) =>
      failsWith('ssh.unreachable', { to: `root@${sshd.network.hostIp}:${port}` }),
    ),
  );
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
