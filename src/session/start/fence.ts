import type { Refusal } from '../../api-proxy/answers.ts';
import type { ApiProxyParts } from '../../api-proxy/pass-on.ts';
import { sleep } from '../../async.ts';
import type { Work } from '../../cluster/work.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { SessionLeases } from './leases.ts';

/** How long a write waits for the renewal that it causes. A client that gets no answer for longer gives up by itself. */
const RENEWAL_MS = 5_000;

const LOST: Refusal = {
  ...{ code: 503, reason: 'ServiceUnavailable' },
  message: 'devloop: this session has lost its Lease, so its controller writes nothing more',
};
const ENDED: Refusal = {
  ...{ code: 503, reason: 'ServiceUnavailable' },
  message: 'devloop: this session has ended, so its controller writes nothing more',
};
const OUTDATED: Refusal = {
  ...{ code: 503, reason: 'ServiceUnavailable', retryAfterSeconds: 1 },
  message: 'devloop: the Lease of this session is not renewed, so its controller writes nothing until it is',
};

/**
 * Lets the controller write only while the session's Lease is its own: somebody else who finds it expired takes the operator over, and two
 * controllers must never write at once. A write that finds the Lease outdated, as after this machine was asleep, renews it first.
 */
export function createFence(
  leases: Pick<SessionLeases, 'state' | 'renew'>,
  { emit }: Pick<Work, 'emit'>,
): NonNullable<ApiProxyParts['mayWrite']> {
  let isClosed = false;
  let renewing: Promise<void> | undefined;
  const close = (refusal: Refusal): Refusal => {
    if (!isClosed) emit(notice('api.fenced', { isLost: refusal === LOST }));
    isClosed = true;
    return refusal;
  };
  return async (signal) => {
    if (leases.state() === 'outdated') {
      renewing ??= leases.renew().finally(() => {
        renewing = undefined;
      });
      await Promise.race([renewing, sleep(RENEWAL_MS, signal)]);
    }
    const state = leases.state();
    if (state === 'ended') return ENDED;
    if (state !== 'held') return close(state === 'lost' ? LOST : OUTDATED);
    if (isClosed) emit(notice('api.unfenced', {}));
    isClosed = false;
    return undefined;
  };
}
