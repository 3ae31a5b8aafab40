import { issuePair } from './issue.ts';
import type { KeyPair } from './key-pair.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A serving certificate that is its own CA: `certificate` is also its caBundle. */
export async function selfSignedPair(serverNames: string[], { days }: { days: number }): Promise<KeyPair> {
  return await issuePair({ serverNames, notAfter: new Date(Date.now() + days * DAY_MS) });
}
