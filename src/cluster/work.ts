import type { Emit } from '../report/events.ts';
import type { ClusterApi } from './api/client.ts';

/** What all code that changes or watches the cluster needs. */
export interface Work {
  api: ClusterApi;
  /** The session's id, which is written to a label of every object that the session changes or creates. */
  sessionId: string;
  emit: Emit;
  /** Aborts waits, but never a write. */
  signal: AbortSignal;
  /** Receives each task on which no later step depends, and awaits it later. Without `beside`, each task is awaited at once. */
  beside?: (task: Promise<void>) => void;
}

/** What code needs if it only waits for something in the cluster and changes nothing there. */
export type Observer = Omit<Work, 'sessionId'>;
