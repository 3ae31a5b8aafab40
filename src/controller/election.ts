/** Follows whether the controllers of a session become the leader. */
export interface Election {
  /** Called right before a controller starts. */
  attend(): Candidate;
}

/** One controller that may take part in a leader election. */
export interface Candidate {
  /** Called with each line that the controller prints. */
  reads(line: string): void;
  /** Called when the controller has exited. `isGone`: nothing that it has started is left, so nobody leads in its name. */
  ended(isGone: boolean): void;
}

/** What a controller says about the Lease that its leader holds. */
interface ElectionLine {
  is: 'candidate' | 'leader';
  namespace: string;
  name: string;
}

/**
 * Found in the lines of client-go in all its versions and formats: `successfully acquired lease shop/abc`,
 * `"Successfully acquired lease" lock="shop/abc"`, `{"msg":"Attempting to acquire leader lease...","lock":"shop/abc"}`.
 */
const SAID = /\b(?:(attempting to acquire leader lease)|successfully acquired lease)\b/i;
const LOCK = /\block\b/i;
const LEASE = /^[^a-z0-9]*([a-z0-9][a-z0-9-]*)\/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)/i;

/** Lines of client-go are shorter. */
const LOOKED_AT = 1024;

/** The line may quote anything, so it only says which Lease to look at; the Lease has to prove the rest. */
export function electionLine(line: string): ElectionLine | undefined {
  const start = line.slice(0, LOOKED_AT);
  const said = SAID.exec(start);
  if (said === null) return undefined;
  const rest = start.slice(said.index + said[0].length);
  const [, namespace, name] = LEASE.exec(rest) ?? LEASE.exec(rest.split(LOCK, 2)[1] ?? '') ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  return { is: said[1] === undefined ? 'leader' : 'candidate', namespace, name };
}
