import type { Cluster } from '../../src/cluster/api/kubeconfig-file.ts';

/** A cluster of a kubeconfig, which has no other settings than these. */
export function clusterEntry(settings: Partial<Cluster> & Pick<Cluster, 'name' | 'server'>): Cluster {
  return {
    ...{ tlsServerName: '', skipTLSVerify: false, caFile: '', caData: '' },
    ...{ proxyUrl: '', disableCompression: false },
    ...settings,
  };
}
