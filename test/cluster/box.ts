import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, type ProcessIdentity } from './identity.ts';
import type { Network } from './network.ts';
import { run } from './run.ts';
import type { Slot } from './slot.ts';

export interface Box {
  process: ProcessIdentity;
  /** Aborts when the box ends, whatever the cause; its reason is an Error with the last lines of the log. */
  ended: AbortSignal;
}

const unshare = [
  'unshare',
  '--net',
  '--mount',
  '--pid',
  '--fork',
  '--mount-proc',
  '--propagation',
  'private',
  '--kill-child',
];
const enterTimeoutMs = 5_000;

/** Starts box.sh as process 1 of new namespaces. Unless detached, the kernel kills the box when this process dies. */
export async function startBox(
  slot: Slot,
  network: Network,
  settings: Record<string, string>,
  detached: boolean,
): Promise<Box> {
  await using log = await open(join(slot.dir, 'logs/box.log'), 'w');
  const script = join(import.meta.dirname, 'box.sh');
  const command = [...(detached ? [] : ['setpriv', '--pdeathsig', 'KILL']), ...unshare, 'bash', script];
  const env = {
    PATH: process.env.PATH,
    BOX: slot.dir,
    NODE_ADDRESSES: withPrefixes(network, network.nodes).join(' '),
    GATEWAYS: network.hosts.join(' '),
    ...settings,
  };
  // A process group of its own, so that Ctrl-C reaches only the test, which then ends the box properly.
  const child = spawn(command[0]!, command.slice(1), {
    env,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  await once(child, 'spawn');
  const ended = new AbortController();
  child.once('exit', async () => ended.abort(await causeOfEnd(slot.dir)));
  if (detached) child.unref();
  await entered(child.pid!, ended.signal);
  return { process: (await identify(child.pid!))!, ended: ended.signal };
}

/** Connects the box to this machine by a virtual cable. */
export async function connectBox(slot: Slot, network: Network, box: Box): Promise<void> {
  box.ended.throwIfAborted();
  const peer = ['peer', 'name', 'eth0', 'netns', String(box.process.pid)];
  await run('ip', ['link', 'add', slot.link, 'type', 'veth', ...peer]);
  for (const address of withPrefixes(network, network.hosts)) {
    // Without nodad, nothing could listen on an IPv6 address in its first second.
    const flags = address.includes(':') ? ['nodad'] : [];
    await run('ip', ['address', 'add', address, 'dev', slot.link, ...flags]);
  }
  await run('ip', ['link', 'set', slot.link, 'up']);
  // Other networks of the tests, such as that of an SSH host, are reached through this machine.
  await writeFile(`/proc/sys/net/ipv4/conf/${slot.link}/forwarding`, '1');
}

/** Runs a program of this machine with the files of the box. */
export function runInBox(box: ProcessIdentity, program: string, args: string[]): Promise<string> {
  return run('nsenter', ['--target', String(box.pid), '--mount', program, ...args]);
}

function withPrefixes({ prefixLengths }: Network, addresses: string[]): string[] {
  return addresses.map((address, index) => `${address}/${prefixLengths[index]}`);
}

async function entered(pid: number, ended: AbortSignal): Promise<void> {
  const deadline = Date.now() + enterTimeoutMs;
  const own = await readlink('/proc/self/ns/net');
  while ((await readlink(`/proc/${pid}/ns/net`).catch(() => own)) === own) {
    ended.throwIfAborted();
    if (Date.now() > deadline) throw new Error(`unshare made no namespaces within ${enterTimeoutMs} ms`);
    await sleep(5);
  }
}

async function causeOfEnd(dir: string): Promise<Error> {
  const read = (file: string) => readFile(join(dir, file), 'utf8').catch(() => '');
  const why = (await read('failed')) || (await read('logs/box.log')).split('\n').slice(-15).join('\n');
  return new Error(`the test cluster ended: ${why.trim() || 'killed from outside'}`);
}
