import { type Answer, statusAnswer } from './answer.ts';

/** What a review waits for now, and the signal that ends it: budget used, client gone, or gateway closed. */
export interface Waiting {
  for: 'body' | 'release' | 'connection' | 'answer';
  readonly signal: AbortSignal;
  /** Why it is of no use to wait for a controller; undefined while it is. */
  hopeless(): string | undefined;
}

/** Why the waiting of a review ended. */
export type End = 'budget-used' | 'client-gone' | 'gateway-closed';

/** The answer for a review whose waiting ended; undefined where nobody is there to read it. */
export function answerAtEnd(
  end: End,
  waitedFor: Waiting['for'],
  seconds: number,
  address: string,
): Answer | undefined {
  if (end === 'client-gone') return undefined;
  if (end === 'gateway-closed') return statusAnswer(503, 'this session ended while the review waited');
  const time = `within ${Number(seconds.toFixed(1))} s, which is what the timeout of the webhook leaves`;
  switch (waitedFor) {
    case 'body':
      return statusAnswer(503, `the request did not arrive whole ${time}`);
    case 'release':
      return statusAnswer(503, `the controller was being restarted, and was not ready ${time}`);
    case 'connection':
      return statusAnswer(503, `no controller took the connection on ${address} ${time}`);
    case 'answer':
      return statusAnswer(503, `the controller did not answer ${time}`);
    default:
      return waitedFor satisfies never;
  }
}
