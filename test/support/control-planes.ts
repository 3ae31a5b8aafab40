import { inject } from 'vitest';
import type { ClusterOptions } from '../cluster/cluster.ts';
import { SOAK } from './repeat.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** In `npm test`, each file runs on one of the two, and both are used at the same time. */
    aggregatorRouting?: boolean;
  }
}

type Named = [name: string, options: ClusterOptions & { aggregatorRouting: boolean }];

const ROUTINGS: Named[] = [
  ['endpoint routing off', { aggregatorRouting: false }],
  ['endpoint routing on', { aggregatorRouting: true }],
];

/** The last version whose kube-apiserver reads Endpoints when endpoint routing is on. */
const OLD: Named[] = ROUTINGS.map(([name, one]) => [
  `${name}, Kubernetes 1.33`,
  { ...one, kubernetes: '1.33' },
]);

const ALL = SOAK ? [...ROUTINGS, ...OLD] : ROUTINGS;
const wanted = inject('aggregatorRouting');

/** What determines which address kube-apiserver calls. */
export const CONTROL_PLANES = ALL.filter(
  ([, { aggregatorRouting }]) => wanted === undefined || aggregatorRouting === wanted,
);
