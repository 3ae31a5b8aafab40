import { inject } from 'vitest';
import type { ClusterOptions } from '../cluster/cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** In `npm test`, each file runs for one of the two, both side by side. */
    aggregatorRouting?: boolean;
  }
}

type Named = [name: string, options: ClusterOptions & { aggregatorRouting: boolean }];

const ALL: Named[] = [
  ['endpoint routing off', { aggregatorRouting: false }],
  ['endpoint routing on', { aggregatorRouting: true }],
];
const wanted = inject('aggregatorRouting');

/** What decides whom kube-apiserver calls. */
export const CONTROL_PLANES = ALL.filter(
  ([, { aggregatorRouting }]) => wanted === undefined || aggregatorRouting === wanted,
);
