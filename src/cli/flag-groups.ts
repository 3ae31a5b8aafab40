import type { FlagGroup } from '../config/flags.ts';

/** The headings of flags in the help. */
export const FLAG_GROUPS: Record<FlagGroup | 'debugger' | 'output', string> = {
  takeOver: 'Taking over:',
  controller: 'Controller:',
  debugger: 'Debugger:',
  reviews: 'Reviews:',
  route: 'Route from the cluster to this machine:',
  cluster: 'Cluster and operator (discovered by default):',
  output: 'Output:',
};
