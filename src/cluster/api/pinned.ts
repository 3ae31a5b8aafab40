import { readFileSync } from 'node:fs';
import { type Cluster, type Context, FOR_PLUGINS, type Kubeconfig } from './kubeconfig-file.ts';

/** The cluster and the context of a kubeconfig, as they were when they were selected. Nothing in the cluster entry refers to a file. */
export interface PinnedEntries {
  cluster: Cluster;
  context: Context;
}

/** The cluster with the content of its certificate authority, because the file can later belong to another cluster. Throws if it cannot be read. */
export function withOwnAuthority(cluster: Cluster): Cluster {
  if (cluster.caFile === '') return cluster;
  return { ...cluster, caFile: '', caData: readFileSync(cluster.caFile).toString('base64') };
}

/**
 * The same cluster and context, with the user whom the kubeconfig now pairs with this cluster: that of the context, or else the same user in
 * another context. Names prove nothing, since a cluster that is made anew has the same ones; undefined if no entry proves it.
 */
export function pinnedAgain(
  config: Kubeconfig,
  { cluster, context }: PinnedEntries,
): PinnedEntries | undefined {
  const paired = config.contexts.filter((one) => {
    const other = config.clusters.find(({ name }) => name === one.cluster);
    return other !== undefined && isSameCluster(other, cluster);
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
  const { server, tlsServerName, caData } = withOwnAuthority(cluster);
  return JSON.stringify([server, tlsServerName, Buffer.from(caData, 'base64').toString('base64')]);
}

/**
 * A kubeconfig that comes before the user's own: of two entries with the same name, client-go uses the first. It contains no user, so no
 * secret is copied.
 */
export function pinnedKubeconfig({ cluster, context }: PinnedEntries): object {
  const { server, caData, tlsServerName, skipTLSVerify, proxyUrl, disableCompression, execConfig } = cluster;
  const { name, user, namespace } = context;
  const entry = {
    server,
    ...(caData ? { 'certificate-authority-data': caData } : {}),
    ...(tlsServerName ? { 'tls-server-name': tlsServerName } : {}),
    ...(skipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(proxyUrl ? { 'proxy-url': proxyUrl } : {}),
    ...(disableCompression ? { 'disable-compression': true } : {}),
    ...(execConfig === undefined ? {} : { extensions: [{ name: FOR_PLUGINS, extension: execConfig }] }),
  };
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name: cluster.name, cluster: entry }],
    contexts: [{ name, context: { cluster: cluster.name, user, ...(namespace ? { namespace } : {}) } }],
  };
}
