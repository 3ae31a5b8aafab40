import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterApi } from '../cluster/api/client.ts';
import { kubeconfigOf } from '../cluster/api/kubeconfig.ts';
import { pinnedKubeconfig } from '../cluster/api/pinned.ts';
import type { CheckoutFacts } from '../operator/sources.ts';
import type { LocalFiles } from './key-pair-files.ts';
import type { NeededFiles } from './mounts.ts';
import type { PodConnection } from './pod-connection.ts';

export interface KubeconfigInputs {
  api: Pick<ClusterApi, 'pinned' | 'kubeconfigFiles'>;
  files: Pick<LocalFiles, 'directory'>;
  /** Whether the kubeconfig is a single file of devloop's own, which nobody else changes. */
  hasOwnKubeconfig?: boolean | undefined;
  /** Absent in a dry run, and if no program can need it. */
  connection?: Pick<PodConnection, 'variables' | 'files'> | undefined;
}

interface Checkout {
  root: string;
  facts: Pick<CheckoutFacts, 'kubeconfigVariable' | 'kubeconfigFlags'>;
}

/**
 * Whether the program reads one kubeconfig file at most. `flags`: the flags from which alone it reads its kubeconfig, if devloop builds it.
 * A command can run anything: client-go, which a Go program probably uses, reads a list of files as devloop writes it; libraries for other
 * languages take the current context of the last file, or read only one.
 */
export function readsOneFile({ root, facts }: Checkout, flags: unknown[] | undefined): boolean {
  if (facts.kubeconfigVariable) return true;
  return flags === undefined ? !existsSync(join(root, 'go.mod')) : flags.length > 0;
}

/**
 * The controller of a session stays in the session's cluster, whatever becomes of the user's kubeconfig: its kubeconfig begins with a small
 * one that pins context and cluster, and only the user's entry comes from the user's own files, so that no secret is copied and a new login
 * is found. A program that reads only one file gets a kubeconfig for the connection that replaces a Pod's.
 */
export function planKubeconfig(
  { api, files, hasOwnKubeconfig, connection }: KubeconfigInputs,
  isOne: boolean,
): { paths: string[]; needed: NeededFiles[] } | undefined {
  if (hasOwnKubeconfig) return { paths: api.kubeconfigFiles, needed: [] };
  const file = join(files.directory, 'kubeconfig');
  const planned = (others: string[], content: object) => ({
    paths: [file, ...others],
    needed: [{ directory: files.directory, files: { kubeconfig: JSON.stringify(content) } }],
  });
  if (isOne && connection !== undefined) return planned([], kubeconfigLike(connection));
  if (api.kubeconfigFiles.length === 0) return undefined;
  return planned(isOne ? [] : api.kubeconfigFiles, pinnedKubeconfig(api.pinned));
}

function kubeconfigLike({ variables, files }: NonNullable<KubeconfigInputs['connection']>): object {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = variables;
  const authority = Buffer.from(files['ca.crt'] ?? '').toString('base64');
  const cluster = { server: `https://${host}:${port}`, 'certificate-authority-data': authority };
  return kubeconfigOf('devloop', cluster, { token: files.token });
}
