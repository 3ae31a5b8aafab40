import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Gateway, startGateway } from '../../../src/gateway/gateway.ts';
import type { KeyPair } from '../../../src/gateway/tls.ts';
import { createAnswering } from '../../../src/reviews/answering-build.ts';
import { Recorder } from '../../../src/reviews/recorder.ts';
import { createRecording } from '../../../src/reviews/recording.ts';
import { run } from '../../cluster/run.ts';
import { freePort } from '../../support/free-port.ts';
import { end } from '../../support/sshd/network.ts';
import { buildProgram } from '../tunnel/load.ts';
import { startPlainProxy } from './plain-proxy.ts';

const SERVER_NAME = 'webhook.default.svc';

/** What tunnel/reviews.go prints about a load. */
export interface Measured {
  p50Ms: number;
  slowestMs: number;
  perSecond: number;
  answered: number;
  failed: number;
  causes: string[];
}

/** A controller, and what stands in front of it. */
export interface Subjects extends AsyncDisposable {
  /** The port of each subject. */
  ports: Record<'direct' | 'devloop' | 'HAProxy' | 'Node', number>;
  gateway: Gateway;
  /**
   * Ends the controller, and starts it again after a while. Resolves when it listens again, with the time during which nothing listened.
   */
  restartController(downMs: number): Promise<{ downMs: number }>;
  load(args: string[]): Promise<Measured>;
}

export async function startSubjects(): Promise<Subjects> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'devloop-gateway-bench-'));
  stack.defer(() => rm(dir, { recursive: true }));
  const program = await buildProgram(dir);
  const files = { certificate: join(dir, 'tls.crt'), key: join(dir, 'tls.key'), both: join(dir, 'both.pem') };
  const pair = await issuePair(files);
  await writeFile(files.both, `${pair.certificate}\n${pair.key}`, { mode: 0o600 });
  const direct = await freePort();
  const start = () =>
    startController([program, 'reviews', 'serve', String(direct), files.certificate, files.key]);
  let controller = await start();
  stack.defer(() => end(controller));

  const haproxy = await freePort();
  await writeFile(join(dir, 'haproxy.cfg'), haproxyConfig(haproxy, files.both, direct));
  const proxy = spawn('haproxy', ['-db', '-f', join(dir, 'haproxy.cfg')], { stdio: 'inherit' });
  stack.defer(() => end(proxy));

  const recorder = stack.use(new Recorder(createRecording(dir), { answering: createAnswering() }, () => {}));
  const gateway = stack.use(
    await startGateway({
      host: '127.0.0.1',
      sessionId: 'bench',
      controller: { host: '127.0.0.1', port: direct },
      hooks: { served: recorder.served },
      emit: () => {},
    }),
  );
  gateway.present(SERVER_NAME, pair);
  gateway.accept(['/review']);
  const plain = stack.use(await startPlainProxy(pair, direct));
  const all = stack.move();
  return {
    ports: { direct, devloop: gateway.port, HAProxy: haproxy, Node: plain.port },
    gateway,
    async restartController(downMs) {
      await end(controller);
      const since = performance.now();
      await sleep(downMs);
      controller = await start();
      return { downMs: performance.now() - since };
    },
    load: async (args) => JSON.parse(await run(program, ['reviews', ...args])) as Measured,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Issues a key pair of the kind that cert-manager issues by default. */
async function issuePair({ certificate, key }: { certificate: string; key: string }): Promise<KeyPair> {
  const names = ['-subj', `/CN=${SERVER_NAME}`, '-addext', `subjectAltName=DNS:${SERVER_NAME}`];
  const to = ['-nodes', '-days', '1', '-keyout', key, '-out', certificate];
  await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...names, ...to]);
  return { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
}

async function startController(command: string[]): Promise<ChildProcess> {
  const [program, ...args] = command;
  const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

/** One thread, since the gateway has no more; connections to the controller are kept, as the gateway keeps them. */
function haproxyConfig(port: number, certificate: string, controller: number): string {
  return `global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  http-reuse always
frontend reviews
  bind 127.0.0.1:${port} ssl crt ${certificate}
  default_backend controller
backend controller
  server one 127.0.0.1:${controller} ssl verify none
`;
}
