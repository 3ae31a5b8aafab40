import { readFile, stat } from 'node:fs/promises';
import type { Kubeconfig } from './kubeconfig-file.ts';
import { NOBODY } from './nobody.ts';

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const NAME = 'in-cluster';

/** In a Pod: a kubeconfig for its ServiceAccount. */
export async function inClusterConfig(
  env: Record<string, string | undefined>,
): Promise<Kubeconfig | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, POD_NAMESPACE } = env;
  const tokenFile = `${ACCOUNT}/token`;
  const token = await stat(tokenFile).catch(() => undefined);
  if (!host || !port || token === undefined || token.isDirectory()) return undefined;
  const read = (name: string): Promise<string> => readFile(`${ACCOUNT}/${name}`, 'utf8').catch(() => '');
  const namespace = POD_NAMESPACE || (await read('namespace')).trim();
  const hasAuthority = /-----BEGIN CERTIFICATE-----/.test(await read('ca.crt'));
  const cluster = {
    ...{ server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`, proxyUrl: '', caData: '' },
    ...{ tlsServerName: '', skipTLSVerify: false, disableCompression: false },
    caFile: hasAuthority ? `${ACCOUNT}/ca.crt` : '',
  };
  return {
    clusters: [{ name: NAME, ...cluster }],
    users: [{ ...NOBODY, name: NAME, tokenFile }],
    contexts: [{ name: NAME, cluster: NAME, user: NAME, namespace }],
    currentContext: NAME,
  };
}
