import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../cluster/run.ts';
import { end } from '../../support/sshd/network.ts';
import type { TestSshd } from '../../support/sshd/sshd.ts';
import type { SshHost } from './subjects.ts';

/** A second link between this machine and sshd: with a round-trip time, packets of 1500 bytes, and no losses. */
export interface SlowLink extends AsyncDisposable {
  /** The address of this machine. */
  here: string;
  /** The address of sshd on this link. */
  host: SshHost;
}

/** How much may wait in a device: more than any window in these tests. */
const QUEUED_PACKETS = '65536';

/** `program` is the result of buildLoad(). */
export async function createSlowLink(program: string, sshd: TestSshd, rttMs: number): Promise<SlowLink> {
  const { network, env, dir } = sshd;
  const [, number] = /^dlssh(\d+)$/.exec(network.link)!;
  const [near, far] = [`dlwan${number}`, `dlfar${number}`];
  const [here, there] = [`10.97.${number}.1`, `10.97.${number}.2`];
  await using made = new AsyncDisposableStack();
  const link = spawn(program, ['delay', near, far, String(rttMs * 500)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  made.defer(() => end(link));
  const failed = once(link, 'exit').then(() => Promise.reject(new Error(`no link of ${near} and ${far}`)));
  failed.catch(() => undefined);
  await Promise.race([once(link.stdout, 'data'), failed]);
  await run('ip', ['link', 'set', far, 'netns', network.space]);
  await configure([], near, here);
  await configure(network.enter, far, there);
  const key = (await readFile(join(dir, 'host_ed25519.pub'), 'utf8')).split(' ', 2).join(' ');
  await appendFile(join(env.HOME!, '.ssh/known_hosts'), `${there} ${key}\n`);
  const resources = made.move();
  return {
    here,
    host: { address: there, env, to: `root@${there}` },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function configure(enter: string[], device: string, address: string): Promise<void> {
  const commands = [
    ['address', 'add', `${address}/30`, 'dev', device],
    ['link', 'set', device, 'mtu', '1500', 'txqueuelen', QUEUED_PACKETS, 'up'],
  ];
  for (const command of commands) {
    const [program, ...args] = [...enter, 'ip', ...command];
    await run(program!, args);
  }
}
