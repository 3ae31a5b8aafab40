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
  /** Gets each task that no next step depends on, and waits for it later. Without it, each is waited for at once. */
  beside?: (task: Promise<void>) => void;
}

/** What code needs if it only waits for something in the cluster and changes nothing there. */
export type Observer = Omit<Work, 'sessionId'>;
