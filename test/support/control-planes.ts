import type { ClusterOptions } from '../cluster/cluster.ts';

type Named = [name: string, options: ClusterOptions & { aggregatorRouting: boolean }];

/** What decides whom kube-apiserver calls. */
export const CONTROL_PLANES: Named[] = [
  ['endpoint routing off', { aggregatorRouting: false }],
  ['endpoint routing on', { aggregatorRouting: true }],
];
