import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Admission } from '../api-proxy/admission.ts';
import type { ServedCall } from '../api-proxy/observed.ts';
import type { ApiProxy } from '../api-proxy/proxy.ts';
import { kubeconfigOf } from '../cluster/api/kubeconfig.ts';
import type { PinnedEntries } from '../cluster/api/pinned.ts';
import { notWritten } from '../machine/own-files.ts';

/** How a program finds the API proxy. */
export interface ApiAccess extends Pick<ApiProxy, 'variables' | 'reports'> {
  /** Where its kubeconfig is, and the files of a ServiceAccount. */
  directory: string;
}

interface Admitted {
  /** Names cluster and context as the user's kubeconfig does. */
  pinned: PinnedEntries;
  /** The namespace of a program that connects as in a Pod. */
  namespace: string;
  /** Is told the calls, if the proxy observes them. */
  served?: (call: ServedCall) => void;
}

export function accessKubeconfig({ directory }: Pick<ApiAccess, 'directory'>): string {
  return join(directory, 'kubeconfig');
}

/** What a program that connects as in a Pod finds in place of the files of its ServiceAccount. */
export function accessPodFiles({ directory }: Pick<ApiAccess, 'directory'>): string {
  return join(directory, 'pod');
}

/** Programs, and what a Makefile runs beside them, can name the user's context. */
function kubeconfigFor(
  { variables, certificate }: Pick<ApiProxy, 'variables' | 'certificate'>,
  token: string,
  { context }: PinnedEntries,
): object {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = variables;
  const authority = Buffer.from(certificate).toString('base64');
  const cluster = { server: `https://${host}:${port}`, 'certificate-authority-data': authority };
  return kubeconfigOf(context.name, cluster, { token }, context.namespace);
}

/**
 * Admits programs to the API proxy by files in a directory. Synchronous, because a program that starts waits for it. Throws
 * 'files.not-written'.
 */
export function admitBy(
  directory: string,
  proxy: Pick<ApiProxy, 'variables' | 'certificate' | 'admit'>,
  { pinned, namespace, served }: Admitted,
): Admission {
  const admission = proxy.admit(served);
  const { token } = admission;
  const pod = Object.entries({ token, 'ca.crt': proxy.certificate, namespace }).map(
    ([name, content]) => [join(accessPodFiles({ directory }), name), content] as const,
  );
  const kubeconfig = JSON.stringify(kubeconfigFor(proxy, token, pinned));
  try {
    for (const [file, content] of [[accessKubeconfig({ directory }), kubeconfig] as const, ...pod]) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(file, content, { mode: 0o600 });
    }
  } catch (error) {
    throw notWritten(directory, error);
  }
  return admission;
}
