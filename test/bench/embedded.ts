import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import { apiServerFiles, etcdArguments, etcdUrl } from '../../src/session/embedded/server-arguments.ts';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { goBuild } from '../cluster/go-build.ts';
import { startDevloop } from '../support/devloop.ts';
import { freePort } from '../support/free-port.ts';
import { application, checkoutSample } from '../support/sample-operator.ts';
import { note, report } from './figures.ts';
import { median, ROUNDS } from './measure.ts';

const LOG = (line: string) => console.error(line);
const WEBHOOKS = 9443;

/** `up --embedded` until the first review is answered, against the same server, CRDs and object by kubectl, and a start of the manager. */
export async function embeddedFigures(): Promise<void> {
  const { cluster } = await ensureClusterBinaries({ log: LOG });
  await using checkout = await checkoutSample();
  const { directory: cwd } = checkout;
  const assets = join(cwd, 'bin/k8s/1.36.0');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver'])
    await writeFile(join(assets, name), `#!/bin/sh\nexec ${cluster} ${name} "$@"\n`, { mode: 0o755 });
  await writeFile(join(cwd, 'web.yaml'), application('web', 'example.com/shop:1'));
  const manager = join(cwd, 'bin/manager');
  await goBuild({ what: 'the sample operator', cwd, out: manager, packages: ['./cmd'] }, LOG);
  const sides = { cwd, assets, manager };
  // The caches are warm for both.
  await ours(sides);
  const [all, byHand] = [[await ours(sides)], [await theirs(sides)]];
  while (all.length < ROUNDS) {
    byHand.push(await theirs(sides));
    all.push(await ours(sides));
  }
  const hand = {
    server: median(byHand.map(({ server }) => server)),
    start: median(byHand.map(({ start }) => start)),
  };
  note(
    `by hand: ${Math.round(hand.server)} ms to the object, ${Math.round(hand.start)} ms to start the manager`,
  );
  report({
    name: 'up --embedded until the first review is answered',
    ours: median(all.map(({ review }) => review)),
    unit: 'ms',
    anchor: {
      name: 'the same server and object by kubectl, and a start of the manager',
      value: hand.server + hand.start,
    },
    goal: { most: 1.3 },
  });
  const ends = median(all.map(({ end }) => end));
  report({ name: 'the end of up --embedded', ours: ends, unit: 'ms', goal: { most: 1000 } });
}

interface Sides {
  cwd: string;
  assets: string;
  manager: string;
}

async function ours({ cwd, assets }: Sides): Promise<{ review: number; end: number }> {
  const env = { XDG_STATE_HOME: join(cwd, '.state'), KUBEBUILDER_ASSETS: assets, CGO_ENABLED: '0' };
  const startedAt = performance.now();
  await using up = startDevloop(['up', '--embedded'], { cwd, env });
  await up.waitFor('session.ready');
  const { values } = await up.waitFor('note', ({ code }) => code === 'embedded.started');
  await kubectl((values as { kubeconfig: string }).kubeconfig, 'apply', '-f', join(cwd, 'web.yaml'));
  await up.waitFor('review');
  const review = performance.now() - startedAt;
  const endsAt = performance.now();
  up.signal('SIGINT');
  await up.exited;
  return { review, end: performance.now() - endsAt };
}

async function theirs({ cwd, assets, manager }: Sides): Promise<{ server: number; start: number }> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-bench-'));
  const running: ChildProcess[] = [];
  const start = (program: string, args: string[], env = {}) => {
    const child = spawn(program, args, { cwd: directory, stdio: 'ignore', env: { ...process.env, ...env } });
    running.push(child);
    return child;
  };
  try {
    const port = await freePort();
    const { args, kubeconfig } = await apiServerFiles({
      directory,
      name: 'bench',
      etcd: etcdUrl(directory),
      port,
      egress: undefined,
    });
    const startedAt = performance.now();
    start(join(assets, 'etcd'), etcdArguments(join(directory, 'etcd'), false));
    start(join(assets, 'kube-apiserver'), args);
    for (const files of ['config/crd/bases', 'web.yaml'])
      while (
        !(await kubectl(kubeconfig, 'apply', '-f', join(cwd, files)).then(
          () => true,
          () => false,
        ))
      )
        await pause(20);
    const server = performance.now() - startedAt;
    const { certificate, key } = await selfSignedPair(['localhost'], { days: 1 });
    await writeFile(join(directory, 'tls.crt'), certificate);
    await writeFile(join(directory, 'tls.key'), key);
    const managerAt = performance.now();
    const flags = [
      `--webhook-cert-path=${directory}`,
      '--metrics-bind-address=0',
      '--health-probe-bind-address=0',
    ];
    start(manager, flags, { KUBECONFIG: kubeconfig });
    while (!(await accepts(WEBHOOKS))) await pause(10);
    return { server, start: performance.now() - managerAt };
  } finally {
    await Promise.all(
      running.map(async (child) => {
        const exited = once(child, 'exit');
        if (child.kill('SIGKILL')) await exited;
      }),
    );
    await rm(directory, { recursive: true });
  }
}

function kubectl(kubeconfig: string, ...words: string[]) {
  return promisify(execFile)('kubectl', ['--kubeconfig', kubeconfig, ...words]);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => resolve(true));
    socket.once('connect', () => socket.destroy());
    socket.once('error', () => resolve(false));
  });
}
