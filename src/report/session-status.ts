import type { ObjectName } from './object-name.ts';

export interface SessionStatus {
  session: string;
  holder: string;
  /** When the session began, as an ISO time; empty if the Lease is missing. */
  since: string;
  route: string;
  targets: ObjectName[];
  /** live: the Lease was renewed within its duration; stale: it was not; unknown: there is no Lease. */
  state: 'live' | 'stale' | 'unknown';
  health: string;
  /** The ServiceAccount as which the controller works, as the API server calls it; absent if it works with the account of whoever started it. */
  account?: string;
  /** How many faults can still be met; absent if none can. */
  faults?: number;
  /** What the session changed or created, except Leases. */
  objects: ObjectName[];
}

/** Where sessions were looked for: in these namespaces, or in the whole cluster. */
export interface Searched {
  context: string;
  namespaces?: string[];
  /** The account is not allowed to list all the objects that a session can change. */
  incomplete?: true;
  /** The objects that the user named; only sessions that hold one of them are listed. */
  names?: string[];
  /** What other sessions hold, if no session holds one of `names`. */
  others?: ObjectName[];
}
