import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pollUntil, reportWhileWaiting } from '../../async.ts';
import { type ClusterApi, connect } from '../../cluster/api/client.ts';
import { isConflict } from '../../cluster/api/errors.ts';
import { kubeconfigOf, loadKubeconfig } from '../../cluster/api/kubeconfig.ts';
import { recordStarted } from '../../controller/orphan.ts';
import { startController } from '../../controller/process.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import { freePort } from '../../machine/port.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from '../context/options.ts';
import { processRecord, verifyDirectory } from '../context/session-directories.ts';
import { type Definition, definitionsIn } from './kinds.ts';
import type { ApiServer } from './no-cluster.ts';

const READY_SECONDS = 60;
const ESTABLISHED_MS = 10_000;
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Starts an API server that has only the CRDs of the checkout. It listens on the loopback interface, and is gone when it is disposed. */
export async function startEnvtest(assets: string, checkout: string, io: Io): Promise<ApiServer> {
  await using started = new AsyncDisposableStack();
  const directory = await verifyDirectory(checkout, io.env);
  started.defer(() => rm(directory, { recursive: true, force: true }));
  const start = (name: 'etcd' | 'kube-apiserver', args: string[]) => {
    const program = join(assets, name);
    const run = { command: [program, ...args], cwd: directory, env: cleanEnv(io.env) };
    const running = startController(
      run,
      () => {},
      (pid) => recordStarted(processRecord(directory, name), { pid, command: [program] }),
    );
    started.defer(async () => void (await running.stop({ graceMs: 2_000 })));
    return running;
  };
  const [etcdPort, port] = [await freePort(), await freePort()];
  const etcd = `http://127.0.0.1:${etcdPort}`;
  const data = ['--data-dir', join(directory, 'etcd'), '--unsafe-no-fsync'];
  const urls = ['--listen-client-urls', etcd, '--advertise-client-urls', etcd];
  start('etcd', [...data, ...urls, '--listen-peer-urls', 'http://127.0.0.1:0']);
  const token = randomBytes(16).toString('hex');
  const server = start('kube-apiserver', await apiServerArguments({ directory, etcd, port, token }));
  const cluster = { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
  const file = join(directory, 'kubeconfig.json');
  await writeFile(file, JSON.stringify(kubeconfigOf('devloop-verify', cluster, { token })), { mode: 0o600 });
  const select = () => loadKubeconfig({ kubeconfig: file }, {}, directory);
  await using api = await connect(await select());
  const ended = server.exited.then(() => 'ended' as const);
  const isReady = () =>
    api.call('GET', CRDS).then(
      () => true,
      () => false,
    );
  const ready = pollUntil(isReady, { everyMs: 200, limitMs: READY_SECONDS * 1000, signal: io.signal });
  const waiting = { for: "envtest's API server", limitSeconds: READY_SECONDS };
  const first = await reportWhileWaiting(Promise.race([ready, ended]), waiting, io.emit);
  if (first !== true) {
    io.signal.throwIfAborted();
    const why = first === 'ended' ? 'ended before it was ready' : `did not start within ${READY_SECONDS} s`;
    throw notStarted(`The API server in ${assets} ${why}`, server.lastLines());
  }
  await installCrds(api, checkout, io);
  const owned = started.move();
  return { select, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function apiServerArguments({
  directory,
  etcd,
  port,
  token,
}: {
  directory: string;
  etcd: string;
  port: number;
  token: string;
}): Promise<string[]> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = join(directory, 'service-account.key');
  const tokens = join(directory, 'tokens.csv');
  await writeFile(key, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  await writeFile(tokens, `${token},devloop,devloop,system:masters\n`, { mode: 0o600 });
  return [
    ...[
      `--etcd-servers=${etcd}`,
      `--cert-dir=${join(directory, 'certificates')}`,
      `--token-auth-file=${tokens}`,
    ],
    ...['--bind-address=127.0.0.1', '--advertise-address=127.0.0.1', `--secure-port=${port}`],
    ...[`--service-account-key-file=${key}`, `--service-account-signing-key-file=${key}`],
    ...['--service-account-issuer=https://kubernetes.default.svc', '--service-cluster-ip-range=10.0.0.0/24'],
    ...['--authorization-mode=RBAC', '--disable-admission-plugins=ServiceAccount'],
  ];
}

/** Installs the CRDs of the checkout's manifests. Conversions would call a webhook that is not there, so they are left out. */
async function installCrds(api: ClusterApi, checkout: string, { emit, signal }: Io): Promise<void> {
  for (const { spec, ...definition } of await definitionsIn(checkout)) {
    const { conversion: _, ...kept } = spec;
    await api.call('POST', CRDS, { ...definition, spec: kept }).catch((error) => {
      // Manifests for several ways to install the operator contain the same CRD several times.
      if (isConflict(error)) return;
      const cause = messageOf(error);
      emit(notice('verify.crd-not-installed', { crd: definition.metadata.name, cause }));
    });
  }
  const isServed = async (): Promise<boolean> => {
    const { items } = await api.call<{ items: Definition[] }>('GET', CRDS);
    return items.every(isEstablished);
  };
  await pollUntil(isServed, { everyMs: 100, limitMs: ESTABLISHED_MS, signal });
}

function isEstablished({ status }: Definition): boolean {
  return (status?.conditions ?? []).some((one) => one.type === 'Established' && one.status === 'True');
}

function cleanEnv(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function notStarted(message: string, lines: string[]): DevloopError {
  const said = lines.length === 0 ? '' : `:\n${lines.slice(-10).join('\n')}`;
  return new DevloopError('cluster.unreachable', message + said, {
    hint: 'Check KUBEBUILDER_ASSETS: setup-envtest use -p path',
  });
}
