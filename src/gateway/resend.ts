/** How one try to get an answer from the controller failed. */
export interface Failure {
  code: string | undefined;
  message: string;
  /** The TLS connection stood, so the controller may have seen the review. */
  connected: boolean;
  /** The connection had been open before: it may have ended before the review was even sent. */
  reused: boolean;
}

const CONNECTION_ENDED = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);
const MOST_DEATHS = 4;

/**
 * What to do about it. `wait`: no controller is there to see the review, so trying costs nothing. `resend`: the connection died without
 * an answer, because the old process ended under it or had closed an idle connection; webhooks must be idempotent
 * (Kubernetes itself asks that of them), so that a second call does no harm. But a handler that panics looks the same, and must
 * not be called over and over until the budget ends: hence a limit.
 */
export function afterFailure(failure: Failure, deaths: number): 'wait' | 'resend' | 'give-up' {
  if (failure.code === 'ECONNREFUSED') return 'wait';
  if (failure.code === undefined || !CONNECTION_ENDED.has(failure.code)) return 'give-up';
  if (!failure.connected) return 'wait';
  return deaths < MOST_DEATHS ? 'resend' : 'give-up';
}
