import type { Emit } from '../report/events.ts';
import type { ClusterApi } from './api/client.ts';

/** What all code that changes or watches the cluster needs. */
export interface Work {
  api: ClusterApi;
  /** Written on every object that this session changes or creates. */
  sessionId: string;
  emit: Emit;
  /** Ends waits, never a write. */
  signal: AbortSignal;
  /** Takes over the wait for what no next step depends on. Without it, each is waited for at once. */
  beside?: (task: Promise<void>) => void;
}

/** What code needs that only waits for something in the cluster and changes nothing there. */
export type Observer = Omit<Work, 'sessionId'>;
