import type { Signing } from '../../../src/route/ssh/handshake.ts';

/** Of somebody who cannot be asked, and has no agent. */
export function nobodySigning(signal: AbortSignal): Signing {
  return {
    ask: undefined,
    unlocked: new Map(),
    accepted: new Set<string>(),
    env: {},
    emit: () => {},
    signal,
  };
}
