import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlink, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { lock } from '../../cluster/lock.ts';
import { run } from '../../cluster/run.ts';

/** A network of its own on this machine, connected to the machine by a virtual cable. */
export interface Network extends AsyncDisposable {
  /** The machine's end. */
  hostIp: string;
  /** The address of the far end. A cluster's box can reach it, too, since its default route leads through this machine. */
  address: string;
  link: string;
  /** The words before a command that run it in the network. The command ends together with this process. */
  enter: string[];
  /** The network as a file. */
  space: string;
  /** Drops every packet silently. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

const highest = 250;
/** The kernel sends this signal when the thread that started the process has ended, however it ended. */
const bound = ['setpriv', '--pdeathsig', 'KILL'];
const enterTimeoutMs = 5_000;
const tables =
  'table inet hole { chain in { type filter hook input priority 0; policy drop; }; chain out { type filter hook output priority 0; policy drop; }; }';

export async function createNetwork(): Promise<Network> {
  await using made = new AsyncDisposableStack();
  const { number, claim } = await claimNumber();
  made.use(claim);
  const [link, hostIp, address] = [`dlssh${number}`, `10.98.${number}.1`, `10.98.${number}.2`];
  const holder = spawn(bound[0]!, [...bound.slice(1), 'unshare', '--net', 'sleep', 'infinity'], {
    detached: true,
    stdio: 'ignore',
  });
  made.defer(() => end(holder));
  await once(holder, 'spawn');
  await entered(holder.pid!);
  const space = `/proc/${holder.pid}/ns/net`;
  const inside = (...command: string[]): Promise<string> => run('nsenter', [`--net=${space}`, ...command]);
  const peer = ['peer', 'name', 'eth0', 'netns', String(holder.pid)];
  // It exists only if the kernel has not cleaned up yet after a run that was killed.
  await run('ip', ['link', 'delete', link]).catch(() => undefined);
  await run('ip', ['link', 'add', link, 'type', 'veth', ...peer]);
  await run('ip', ['address', 'add', `${hostIp}/24`, 'dev', link]);
  await run('ip', ['link', 'set', link, 'up']);
  await writeFile(`/proc/sys/net/ipv4/conf/${link}/forwarding`, '1');
  await inside('ip', 'link', 'set', 'lo', 'up');
  await inside('ip', 'address', 'add', `${address}/24`, 'dev', 'eth0');
  await inside('ip', 'link', 'set', 'eth0', 'up');
  await inside('ip', 'route', 'add', 'default', 'via', hostIp);
  const resources = made.move();
  return {
    hostIp,
    address,
    link,
    enter: [...bound, 'nsenter', `--net=${space}`],
    space,
    cut: async () => void (await inside('nft', tables)),
    mend: async () => void (await inside('nft', 'delete table inet hole')),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Ends a process, and with it the network, since nothing else uses the network. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** The number is a lock in the kernel, so it is free again when this process ends. */
async function claimNumber(): Promise<{ number: number; claim: AsyncDisposable }> {
  for (let number = 1; number <= highest; number++) {
    const claim = await lock(`sshd-${number}`, -1).catch(() => undefined);
    if (claim) return { number, claim };
  }
  throw new Error(`all ${highest} networks for sshd are taken`);
}

async function entered(pid: number): Promise<void> {
  const deadline = Date.now() + enterTimeoutMs;
  const own = await readlink('/proc/self/ns/net');
  while ((await readlink(`/proc/${pid}/ns/net`).catch(() => own)) === own) {
    if (Date.now() > deadline) throw new Error(`unshare made no network within ${enterTimeoutMs} ms`);
    await sleep(5);
  }
}
