import type { Emit } from '../report/events.ts';
import type { ClusterApi } from './api/client.ts';

/** What everything that changes or watches the cluster works with. */
export interface Work {
  api: ClusterApi;
  /** Written on every object that this session changes or creates. */
  sessionId: string;
  emit: Emit;
  /** Ends waits, never a write. */
  signal: AbortSignal;
}

/** What waits for something in the cluster works with: it changes nothing there. */
export type Observer = Omit<Work, 'sessionId'>;
