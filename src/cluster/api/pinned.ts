import { readFileSync } from 'node:fs';
import type { Cluster, Context, KubeConfig } from '@kubernetes/client-node';

/** The cluster and the context of a kubeconfig, as they were when they were selected. Nothing in the cluster entry refers to a file. */
export interface Pinned {
  cluster: Cluster;
  context: Context;
}

/** The cluster with the content of its certificate authority, because the file can later belong to another cluster. Throws if it cannot be read. */
export function withOwnAuthority({ caFile, ...cluster }: Cluster): Cluster {
  // As in client-go, data in the kubeconfig takes precedence over a file.
  if (!caFile || cluster.caData) return cluster;
  return { ...cluster, caData: readFileSync(caFile).toString('base64') };
}

/**
 * The same cluster and context, with the user whom the kubeconfig now pairs with this cluster: that of the context, or else the same user in
 * another context. Names prove nothing, since a cluster that is made anew has the same ones; undefined if no entry proves it.
 */
export function pinnedAgain(config: KubeConfig, { cluster, context }: Pinned): Pinned | undefined {
  const paired = config.contexts.filter((one) => {
    const other = config.getCluster(one.cluster);
    return other !== null && isSameCluster(other, cluster);
  });
  const found =
    paired.find(({ name }) => name === context.name) ?? paired.find(({ user }) => user === context.user);
  return found && { cluster, context: { ...context, user: found.user } };
}

function isSameCluster(one: Cluster, other: Cluster): boolean {
  try {
    return identityOf(one) === identityOf(other);
  } catch {
    return false;
  }
}

/** What a client verifies of a cluster: equal for two entries that name the same one. Throws if the certificate authority cannot be read. */
export function identityOf(cluster: Cluster): string {
  const { server, tlsServerName = '', caData = '' } = withOwnAuthority(cluster);
  return JSON.stringify([server, tlsServerName, Buffer.from(caData, 'base64').toString('base64')]);
}

/** Makes the pinned context the only one, with its user as the kubeconfig has it now. */
export function pin(config: KubeConfig, { cluster, context }: Pinned): void {
  config.clusters = [cluster];
  config.contexts = [context];
  config.setCurrentContext(context.name);
}

/**
 * A kubeconfig that comes before the user's own: of two entries with the same name, client-go uses the first. It contains no user, so no
 * secret is copied.
 */
export function pinnedKubeconfig({ cluster, context: { name, ...context } }: Pinned): object {
  const { server, caData, tlsServerName, skipTLSVerify, proxyUrl } = cluster;
  const entry = {
    server,
    ...(caData ? { 'certificate-authority-data': caData } : {}),
    ...(tlsServerName ? { 'tls-server-name': tlsServerName } : {}),
    // client-go refuses this setting together with a certificate authority. For plain HTTP, only @kubernetes/client-node needs it.
    ...(skipTLSVerify && !server.startsWith('http:') ? { 'insecure-skip-tls-verify': true } : {}),
    ...(proxyUrl ? { 'proxy-url': proxyUrl } : {}),
  };
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name: cluster.name, cluster: entry }],
    contexts: [{ name, context }],
  };
}
