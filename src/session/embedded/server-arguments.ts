import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { selfSignedPair } from '../../certificates/self-signed.ts';
import { kubeconfigOf } from '../../cluster/api/kubeconfig.ts';

export const LOOPBACK = '127.0.0.1';
const CERTIFICATE_DAYS = 365;
const CLIENTS = 'etcd-clients:0';

/**
 * The sockets are in its working directory, which nobody else can enter: on the network, etcd would let in everybody on this machine. It takes
 * what looks like a host and a port for the file's name. `isKept`: the data outlives the machine's next crash.
 */
export function etcdArguments(data: string, isKept: boolean): string[] {
  return [
    ...['--data-dir', data, ...(isKept ? [] : ['--unsafe-no-fsync'])],
    ...['--listen-client-urls', `unix://${CLIENTS}`, '--listen-peer-urls', 'unix://etcd-peers:0'],
    // Of another scheme, it would look for a host there.
    ...['--advertise-client-urls', `http://${LOOPBACK}:0`],
  ];
}

/** Where etcd that works in a directory is reached. */
export function etcdUrl(directory: string): string {
  return `unix://${join(directory, CLIENTS)}`;
}

export interface ServerWanted {
  /** Where its files are written. */
  directory: string;
  /** What the context of its kubeconfig is called. */
  name: string;
  /** The URL of etcd. */
  etcd: string;
  port: number;
  /** A unix socket, where it asks for connections to Services. */
  egress: string | undefined;
}

/** Writes the files of kube-apiserver, and returns its arguments and the path of a kubeconfig for it. */
export async function apiServerFiles(wanted: ServerWanted): Promise<{ args: string[]; kubeconfig: string }> {
  const { directory, name, etcd, port, egress } = wanted;
  const file = async (path: string, text: string): Promise<string> => {
    await writeFile(join(directory, path), text, { mode: 0o600 });
    return join(directory, path);
  };
  const token = randomBytes(16).toString('hex');
  // Keys for elliptic curves are generated instantly.
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const key = await file(
    'service-account.key',
    privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
  );
  const tokens = await file('tokens.csv', `${token},devloop,devloop,system:masters\n`);
  const pair = await selfSignedPair([LOOPBACK, 'localhost'], { days: CERTIFICATE_DAYS });
  const certificate = await file('serving.crt', pair.certificate);
  const serving = await file('serving.key', pair.key);
  const cluster = {
    server: `https://${LOOPBACK}:${port}`,
    'certificate-authority-data': Buffer.from(pair.certificate).toString('base64'),
  };
  const kubeconfig = await file('kubeconfig.json', JSON.stringify(kubeconfigOf(name, cluster, { token })));
  const selector =
    egress === undefined ? [] : egressArguments(await file('egress.json', egressConfig(egress)));
  const args = [
    ...[`--etcd-servers=${etcd}`, `--cert-dir=${join(directory, 'certificates')}`],
    ...[`--tls-cert-file=${certificate}`, `--tls-private-key-file=${serving}`],
    ...[`--token-auth-file=${tokens}`, `--bind-address=${LOOPBACK}`, `--advertise-address=${LOOPBACK}`],
    ...[`--secure-port=${port}`, '--service-cluster-ip-range=10.0.0.0/24'],
    ...[`--service-account-key-file=${key}`, `--service-account-signing-key-file=${key}`],
    '--service-account-issuer=https://kubernetes.default.svc',
    ...['--authorization-mode=RBAC', '--disable-admission-plugins=ServiceAccount'],
    ...selector,
  ];
  return { args, kubeconfig };
}

/** kube-apiserver then dials the endpoints of Services, and does so through the socket. */
function egressArguments(config: string): string[] {
  return [`--egress-selector-config-file=${config}`, '--enable-aggregator-routing=true'];
}

function egressConfig(udsName: string): string {
  const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName } } };
  return JSON.stringify({
    ...{ apiVersion: 'apiserver.k8s.io/v1beta1', kind: 'EgressSelectorConfiguration' },
    egressSelections: [{ name: 'cluster', connection }],
  });
}
