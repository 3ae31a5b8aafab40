import { DevloopError } from '../errors.ts';
import { plainJson, shellQuoted } from '../phrases.ts';
import type { ReviewRecord } from './record.ts';

/** A record whose request was kept. */
export type KeptRecord = ReviewRecord & { request: unknown };

/** The default port of webhook servers in controller-runtime. Older recordings do not contain the port. */
export const USUAL_PORT = 9443;

/** Throws 'review.not-found' if the request was not kept. */
export function requireKept(record: ReviewRecord): KeptRecord {
  if (record.request !== undefined) return { ...record, request: record.request };
  throw new DevloopError(
    'review.not-found',
    `Review ${record.id} was too large to be kept, or was not JSON.`,
  );
}

/**
 * A shell command that sends the review to the controller on this machine, as a dry run. `moved`: ports for which reviews are recorded,
 * each with the port on which the controller listens instead.
 */
export function curlCommand(record: KeptRecord, moved?: ReadonlyMap<number, number>): string {
  const { path, port = USUAL_PORT } = record;
  const url = `https://127.0.0.1:${moved?.get(port) ?? port}${path}`;
  // Each line that JSON.stringify lays out begins with a bracket, a quote or a space, so none of them ends the here-document.
  return [
    `curl --silent --show-error --insecure --globoff --header 'Content-Type: application/json' \\`,
    `  --data-binary @- ${shellQuoted(url)} <<'REVIEW'`,
    plainJson(asDryRun(record.request)),
    'REVIEW',
    '',
  ].join('\n');
}

/** The same AdmissionReview as a dry run, so that webhooks with side effects refrain from them. */
export function asDryRun(review: unknown): unknown {
  const { kind, request } = (review ?? {}) as { kind?: unknown; request?: unknown };
  if (kind !== 'AdmissionReview' || typeof request !== 'object' || request === null) return review;
  return { ...(review as object), request: { ...request, dryRun: true } };
}
