import { join } from 'node:path';
import type { ClusterApi } from '../cluster/api/client.ts';
import { kubeconfigOf } from '../cluster/api/kubeconfig.ts';
import type { CheckoutFacts } from '../operator/sources.ts';
import type { Emit } from '../report/events.ts';
import type { LocalFiles } from './key-pair-files.ts';
import type { NeededFiles } from './mounts.ts';
import type { PodConnection } from './pod-connection.ts';

export interface KubeconfigInputs {
  api: Pick<ClusterApi, 'context' | 'kubeconfigFiles'>;
  /** The context and the kubeconfig that the user chose; absent if kubectl's defaults apply. */
  chosen: { context?: string | undefined; kubeconfig?: string | undefined };
  checkout: { facts: Pick<CheckoutFacts, 'kubeconfigVariable'> };
  files: Pick<LocalFiles, 'directory'>;
  connection?: Pick<PodConnection, 'variables' | 'files'> | undefined;
}

/**
 * The flag --kubeconfig; empty if it cannot express the user's choice: it names one file, and the program uses the current context of that
 * file.
 */
export function kubeconfigFlag({ api, chosen }: KubeconfigInputs, emit: Emit): string[] {
  const [file, ...others] = api.kubeconfigFiles;
  if (file === undefined || others.length > 0 || chosen.context !== undefined) {
    const message = `The program may read its kubeconfig only from its flag --kubeconfig, which names one file; the program uses the current context of that file. You ${chosen.context === undefined ? 'have several kubeconfig files' : 'chose a context'}, so devloop does not add the flag.\nTo name a file: devloop up -- COMMAND --kubeconfig=FILE`;
    emit({ type: 'warning', message });
    return [];
  }
  const message = `--kubeconfig=${file}\nis added: the program may read its kubeconfig only from this flag.`;
  emit({ type: 'note', message });
  return [`--kubeconfig=${file}`];
}

/** Whether KUBECONFIG must name one file: the program reads the variable itself, and only client-go splits it into several files. */
export function needsOneFile({ api, chosen, checkout }: Omit<KubeconfigInputs, 'files'>): boolean {
  const isList = api.kubeconfigFiles.length > (chosen.context === undefined ? 1 : 0);
  return checkout.facts.kubeconfigVariable && isList;
}

/**
 * The controller gets a chosen context through a small kubeconfig that comes before the user's, so that no secret is copied. A program that
 * reads only one file gets a kubeconfig for the connection that replaces a Pod's.
 */
export function planKubeconfig(
  inputs: KubeconfigInputs,
): { paths: string[]; needed: NeededFiles[] } | undefined {
  const { api, chosen, files, connection } = inputs;
  const own = api.kubeconfigFiles;
  const file = join(files.directory, 'kubeconfig');
  const only = (content: object): NeededFiles[] => [
    { directory: files.directory, files: { kubeconfig: JSON.stringify(content) } },
  ];
  if (connection !== undefined && needsOneFile(inputs))
    return { paths: [file], needed: only(kubeconfigLike(connection)) };
  // Programs that read only the variable would not look for the default file.
  if (chosen.context === undefined) return own.length === 0 ? undefined : { paths: own, needed: [] };
  const content = { apiVersion: 'v1', kind: 'Config', 'current-context': api.context };
  return { paths: [file, ...own], needed: only(content) };
}

function kubeconfigLike({ variables, files }: NonNullable<KubeconfigInputs['connection']>): object {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = variables;
  const authority = Buffer.from(files['ca.crt'] ?? '').toString('base64');
  const cluster = { server: `https://${host}:${port}`, 'certificate-authority-data': authority };
  return kubeconfigOf('devloop', cluster, { token: files.token });
}
