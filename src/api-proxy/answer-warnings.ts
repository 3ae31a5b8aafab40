import type { IncomingHttpHeaders } from 'node:http';
import { warningsIn } from '../cluster/api/warning-header.ts';

/** What an answer says besides its body. */
export interface SaidBesides {
  /** The API server's own words, and those of webhooks and policies. */
  warnings: string[];
  /** The uids of the reviews that the API server sent to this session's gateway because of the call. */
  reviews: string[];
}

const MARK = /^devloop: review ([\w-]{1,64})$/;

/**
 * The warning with which the gateway marks its answer to a review. The API server passes warnings of webhooks on with the answer to the call
 * that it has asked for, and so shows which call that is. It has no other way: the audit ID is in no review.
 */
export function reviewMark(uid: string): string {
  return `devloop: review ${uid}`;
}

/** Removes the gateway's marks from the headers, because they are not for the controller, and returns what was said. */
export function takeWarnings(headers: IncomingHttpHeaders): SaidBesides {
  const said: SaidBesides = { warnings: [], reviews: [] };
  if (headers.warning === undefined) return said;
  const others: string[] = [];
  for (const { whole, text } of warningsIn([headers.warning].flat())) {
    const [, uid] = MARK.exec(text) ?? [];
    if (uid !== undefined) said.reviews.push(uid);
    else {
      said.warnings.push(text);
      others.push(whole);
    }
  }
  if (said.reviews.length === 0) return said;
  delete headers.warning;
  if (others.length > 0) headers.warning = others.join(', ');
  return said;
}
