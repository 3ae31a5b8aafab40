import { join } from 'node:path';
import type { CheckoutFacts } from '../checkout/facts.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { pinnedKubeconfig } from '../cluster/api/pinned.ts';
import { type ApiAccess, accessKubeconfig } from './api-access.ts';
import type { LocalFiles } from './key-pair-files.ts';
import type { NeededFiles } from './mounts.ts';

export interface KubeconfigInputs {
  api: Pick<ClusterApi, 'pinned' | 'kubeconfigFiles'>;
  files: Pick<LocalFiles, 'directory'>;
  /** Whether the kubeconfig is a single file of devloop's own, which nobody else changes. */
  hasOwnKubeconfig?: boolean | undefined;
  /** Absent in a dry run, and if no program can need it. */
  proxy?: ApiAccess | undefined;
  /** Whether the program is to reach the API server in no other way than through the proxy. */
  isProxied?: boolean | undefined;
}

type Known = Pick<CheckoutFacts, 'kubeconfigVariable' | 'language'>;

/**
 * Whether the program reads one kubeconfig file at most. `flags`: the flags from which alone it reads its kubeconfig, if devloop builds it.
 * A command can run anything, but probably uses the library of the checkout's language: client-go reads a list of files as devloop writes
 * it; libraries for other languages take the current context of the last file, or read only one.
 */
export function readsOneFile({ kubeconfigVariable, language }: Known, flags: unknown[] = []): boolean {
  return kubeconfigVariable || !language?.readsKubeconfigList || flags.length > 0;
}

/**
 * The controller of a session stays in the session's cluster, whatever becomes of the user's kubeconfig: its kubeconfig has one context, as
 * the session's is called, which leads to the API proxy. Without the proxy, it begins with a small file that pins context and cluster, and
 * only the user's entry comes from the user's own files, so that no secret is copied and a new login is found; a program that reads only
 * one file gets the kubeconfig of the proxy all the same.
 */
export function planKubeconfig(
  { api, files, hasOwnKubeconfig, proxy, isProxied = false }: KubeconfigInputs,
  isOne: boolean,
): { paths: string[]; needed: NeededFiles[] } | undefined {
  if (hasOwnKubeconfig) return { paths: api.kubeconfigFiles, needed: [] };
  if (proxy !== undefined && (isProxied || isOne)) return { paths: [accessKubeconfig(proxy)], needed: [] };
  if (api.kubeconfigFiles.length === 0) return undefined;
  const { directory } = files;
  const kubeconfig = JSON.stringify(pinnedKubeconfig(api.pinned));
  return {
    paths: [join(directory, 'kubeconfig'), ...(isOne ? [] : api.kubeconfigFiles)],
    needed: [{ directory, files: { kubeconfig } }],
  };
}
