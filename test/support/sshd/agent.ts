import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../cluster/run.ts';
import { end } from './network.ts';

export interface TestAgent extends AsyncDisposable {
  socket: string;
  /** A private key, and its certificate if it has one. */
  add(key: string, ...options: string[]): Promise<void>;
}

/** A real ssh-agent. `askpass`: the program that asks a person to confirm, for keys that were added with `-c`. */
export async function startAgent(dir: string, askpass = '/bin/false'): Promise<TestAgent> {
  const socket = join(dir, 'agent.sock');
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'ssh-agent', '-D', '-a', socket], {
    stdio: 'ignore',
    env: { ...process.env, SSH_ASKPASS: askpass, DISPLAY: ':0' },
  });
  const deadline = Date.now() + 5_000;
  while (!existsSync(socket)) {
    if (Date.now() > deadline) throw new Error('ssh-agent did not start');
    await sleep(5);
  }
  return {
    socket,
    add: async (key, ...options) =>
      void (await run('ssh-add', ['-q', ...options, key], { env: { SSH_AUTH_SOCK: socket } })),
    [Symbol.asyncDispose]: () => end(child),
  };
}
