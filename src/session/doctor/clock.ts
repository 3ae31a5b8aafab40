import { counted } from '../../phrases.ts';
import type { Check, Finding, SelfReading } from './check.ts';

const MINUTE_MS = 60_000;
/** A smaller difference seldom matters, because many issuers date their certificates back by some minutes. */
const MOST_MS = 5 * MINUTE_MS;
/** The API server tells the time in whole seconds. */
const SECOND_MS = 1_000;

/** Do this machine and the API server agree on the time? */
export const clockCheck: Check = {
  name: 'clock',
  limitSeconds: 30,
  optional: true,
  async run({ self }) {
    const { review, ...asked } = await self;
    return clockFinding({ ...asked, serverTime: review?.metadata?.creationTimestamp });
  },
};

export interface ClockReading extends Pick<SelfReading, 'fromMs' | 'toMs'> {
  /** What the API server's clock showed in between, such as `2026-01-01T00:00:00Z`. */
  serverTime: string | null | undefined;
}

export function clockFinding({ fromMs, toMs, serverTime }: ClockReading): Finding {
  const serverMs = Date.parse(serverTime ?? '');
  if (Number.isNaN(serverMs))
    return { verdict: 'unknown', answer: 'the API server does not report its time' };
  // Only what is certain counts: the call may have taken long, and the server's second may have just begun or be almost over.
  const aheadMs = fromMs - (serverMs + SECOND_MS);
  const behindMs = serverMs - toMs;
  const proof = [
    `this machine: ${new Date(fromMs).toISOString()}`,
    `SelfSubjectReview: creationTimestamp ${new Date(serverMs).toISOString()}`,
  ];
  if (Math.max(aheadMs, behindMs) <= MOST_MS)
    return { verdict: 'ok', answer: 'this machine and the API server agree on the time', proof };
  const answer =
    aheadMs > behindMs
      ? `this machine's clock is ${roughly(aheadMs)} ahead of the API server's, so certificates that were just issued on this machine may not be valid in the cluster yet`
      : `this machine's clock is ${roughly(behindMs)} behind the API server's, so certificates that were just issued in the cluster may not be valid on this machine yet`;
  const hint = "If this machine's clock is wrong, on Linux with systemd: sudo timedatectl set-ntp true";
  return { verdict: 'warn', answer, proof, hint };
}

/** In the largest unit of which there are at least two. */
function roughly(ms: number): string {
  const minutes = Math.round(ms / MINUTE_MS);
  const hours = Math.round(minutes / 60);
  const days = Math.round(hours / 24);
  if (days > 1) return counted(days, 'day');
  return hours > 1 ? counted(hours, 'hour') : counted(minutes, 'minute');
}
