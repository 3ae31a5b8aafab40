import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pollUntil, reportWhileWaiting } from '../../async.ts';
import { connect } from '../../cluster/api/client.ts';
import { kubeconfigOf, loadKubeconfig } from '../../cluster/api/kubeconfig.ts';
import { recordStarted } from '../../controller/orphan.ts';
import { startController } from '../../controller/process.ts';
import { DevloopError } from '../../errors.ts';
import { freePort, isPortBusy } from '../../machine/port.ts';
import type { Io } from '../context/options.ts';
import { processRecord } from '../context/session-directories.ts';

/** etcd and kube-apiserver on the loopback interface, which are gone when they are disposed. */
export interface ControlPlane extends AsyncDisposable {
  /** Its kubeconfig. */
  file: string;
  /** Resolves when one of the programs has ended by itself. */
  ended: Promise<void>;
}

interface Wanted {
  /** The directory of envtest's programs. */
  assets: string;
  /** Where its files are. */
  directory: string;
  /** What its context is called. */
  name: string;
  /** A unix socket, where it asks for connections to Services. */
  egress?: string;
  /** Used if it is free. */
  port?: number;
}

const READY_SECONDS = 60;

export async function startControlPlane(
  { assets, directory, name, egress, port: wished }: Wanted,
  io: Io,
): Promise<ControlPlane> {
  await using started = new AsyncDisposableStack();
  const start = (program: 'etcd' | 'kube-apiserver', args: string[]) => {
    const path = join(assets, program);
    const run = { command: [path, ...args], cwd: directory, env: cleanEnv(io.env) };
    const running = startController(
      run,
      () => {},
      (pid) => recordStarted(processRecord(directory, program), { pid, command: [path] }),
    );
    // They take seconds to end by themselves, and nothing of them is kept.
    started.defer(async () => void (await running.stop({ graceMs: 0 })));
    return running;
  };
  const [etcdPort, otherwise] = [await freePort(), await freePort()];
  const port = wished === undefined || (await isPortBusy(wished)) ? otherwise : wished;
  const urls = `http://127.0.0.1:${etcdPort}`;
  const etcd = start('etcd', etcdArguments(directory, urls));
  const token = randomBytes(16).toString('hex');
  const args = await apiServerArguments({ directory, etcd: urls, port, token, egress });
  const server = start('kube-apiserver', args);
  const cluster = { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
  const file = join(directory, 'kubeconfig.json');
  await writeFile(file, JSON.stringify(kubeconfigOf(name, cluster, { token })), { mode: 0o600 });
  await using api = await connect(await loadKubeconfig({ kubeconfig: file }, {}, directory));
  const ended = server.exited.then(() => 'ended' as const);
  const isReady = () =>
    api.list('CustomResourceDefinition', undefined).then(
      () => true,
      () => false,
    );
  const ready = pollUntil(isReady, { everyMs: 100, limitMs: READY_SECONDS * 1000, signal: io.signal });
  const waiting = { for: "envtest's API server", limitSeconds: READY_SECONDS };
  const first = await reportWhileWaiting(Promise.race([ready, ended]), waiting, io.emit);
  if (first !== true) {
    io.signal.throwIfAborted();
    const why = first === 'ended' ? 'ended before it was ready' : `did not start within ${READY_SECONDS} s`;
    throw notStarted(`The API server in ${assets} ${why}`, server.lastLines());
  }
  const owned = started.move();
  const anyEnded = Promise.race([etcd.exited, server.exited]).then(() => {});
  return { file, ended: anyEnded, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function etcdArguments(directory: string, urls: string): string[] {
  const data = ['--data-dir', join(directory, 'etcd'), '--unsafe-no-fsync'];
  return [
    ...data,
    ...['--listen-client-urls', urls, '--advertise-client-urls', urls],
    ...['--listen-peer-urls', 'http://127.0.0.1:0'],
  ];
}

interface ServerFacts {
  directory: string;
  etcd: string;
  port: number;
  token: string;
  egress: string | undefined;
}

async function apiServerArguments({ directory, etcd, port, token, egress }: ServerFacts): Promise<string[]> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = join(directory, 'service-account.key');
  const tokens = join(directory, 'tokens.csv');
  await writeFile(key, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  await writeFile(tokens, `${token},devloop,devloop,system:masters\n`, { mode: 0o600 });
  return [
    ...[`--etcd-servers=${etcd}`, `--cert-dir=${join(directory, 'certificates')}`],
    ...[`--token-auth-file=${tokens}`, '--bind-address=127.0.0.1', '--advertise-address=127.0.0.1'],
    ...[`--secure-port=${port}`, '--service-cluster-ip-range=10.0.0.0/24'],
    ...[`--service-account-key-file=${key}`, `--service-account-signing-key-file=${key}`],
    '--service-account-issuer=https://kubernetes.default.svc',
    ...['--authorization-mode=RBAC', '--disable-admission-plugins=ServiceAccount'],
    ...(egress === undefined ? [] : await egressArguments(directory, egress)),
  ];
}

/** kube-apiserver then dials the endpoints of Services, and does so through the socket. */
async function egressArguments(directory: string, udsName: string): Promise<string[]> {
  const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName } } };
  const selection = { name: 'cluster', connection };
  const config = {
    ...{ apiVersion: 'apiserver.k8s.io/v1beta1', kind: 'EgressSelectorConfiguration' },
    egressSelections: [selection],
  };
  const file = join(directory, 'egress.json');
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return [`--egress-selector-config-file=${file}`, '--enable-aggregator-routing=true'];
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
