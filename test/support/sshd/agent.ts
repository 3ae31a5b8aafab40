import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../cluster/run.ts';
import { end } from './network.ts';

export interface TestAgent extends AsyncDisposable {
  socket: string;
  /** A private key, and its certificate where there is one. */
  add(key: string): Promise<void>;
}

/** A real ssh-agent. */
export async function startAgent(dir: string): Promise<TestAgent> {
  const socket = join(dir, 'agent.sock');
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'ssh-agent', '-D', '-a', socket], {
    stdio: 'ignore',
  });
  const deadline = Date.now() + 5_000;
  while (!existsSync(socket)) {
    if (Date.now() > deadline) throw new Error('ssh-agent did not start');
    await sleep(5);
  }
  return {
    socket,
    add: async (key) => void (await run('ssh-add', ['-q', key], { env: { SSH_AUTH_SOCK: socket } })),
    [Symbol.asyncDispose]: () => end(child),
  };
}
