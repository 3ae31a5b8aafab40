import type { ObjectName } from './events.ts';

export interface SessionStatus {
  session: string;
  holder: string;
  /** ISO time; empty where the Lease is missing. */
  since: string;
  route: string;
  targets: ObjectName[];
  /** live: the Lease was renewed within its duration; stale: it was not; unknown: there is no Lease. */
  state: 'live' | 'stale' | 'unknown';
  health: string;
  /** What the session changed or created, Leases aside. */
  objects: ObjectName[];
}

/** Where sessions were looked for: in these namespaces, or in the whole cluster. */
export interface Searched {
  context: string;
  namespaces?: string[];
}
