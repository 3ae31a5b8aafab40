import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { runDevloop } from '../../support/devloop.ts';
import { checkoutSample } from '../../support/sample-operator.ts';
import { type Taken, timeOne } from '../measure.ts';
import { editIn, type Loop } from './sample.ts';

const WEBHOOK_PORT = 9443;

/** An edit that somebody builds and starts in a terminal, without devloop and without the cluster. */
export interface ByHand extends AsyncDisposable {
  /** `build` is a plain incremental `go build`; `start` is the time until that program serves TLS. */
  buildAndStart(): Promise<Taken>;
}

export async function createByHand(loop: Pick<Loop, 'env'>): Promise<ByHand> {
  await using stack = new AsyncDisposableStack();
  const { directory } = stack.use(await checkoutSample());
  const scratch = await mkdtemp(join(tmpdir(), 'devloop-bench-'));
  stack.defer(() => rm(scratch, { recursive: true }));
  const binary = join(scratch, 'manager');
  const certificates = join(scratch, 'certificates');
  const env = loop.env as NodeJS.ProcessEnv;
  await runDevloop(['certs', '--output', certificates], {
    cwd: directory,
    env: env as Record<string, string>,
  });
  const resources = stack.move();
  return {
    async buildAndStart() {
      await editIn(directory);
      const build = await timeOne(['go', 'build', '-o', binary, './cmd'], { cwd: directory, env });
      return { build, start: await untilServing(binary, certificates, env) };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function untilServing(binary: string, certificates: string, env: NodeJS.ProcessEnv): Promise<number> {
  const args = [
    '--leader-elect=false',
    '--health-probe-bind-address=:8081',
    '--metrics-bind-address=:8443',
    `--webhook-cert-path=${certificates}`,
  ];
  const started = performance.now();
  const child = spawn(binary, args, { env, stdio: 'ignore' });
  while (!(await answersTls(WEBHOOK_PORT))) {
    if (child.exitCode !== null) throw new Error(`the manager ended with ${child.exitCode}`);
    await sleep(5);
  }
  const start = performance.now() - started;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
  return start;
}

function answersTls(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = tlsConnect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    const done = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('secureConnect', () => done(true));
    socket.once('error', () => done(false));
  });
}
