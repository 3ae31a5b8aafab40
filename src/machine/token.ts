/** Protects a port on loopback from other users of this machine, who can connect to it, too. */
import { randomBytes, timingSafeEqual } from 'node:crypto';

/** A token of 192 random bits, in characters that need no quotes in a URL, a cookie or a header. */
export function newToken(): string {
  return randomBytes(24).toString('base64url');
}

/** Compares two tokens. All guesses of the right length take the same time, so the time reveals nothing about the token. */
export function isToken(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}
