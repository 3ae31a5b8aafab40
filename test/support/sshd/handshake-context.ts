import type { HandshakeContext } from '../../../src/route/ssh/handshake.ts';

/** A context without a terminal and without accepted keys. */
export function handshakeContext(signal = new AbortController().signal): HandshakeContext {
  return {
    ask: undefined,
    unlocked: new Map(),
    accepted: new Set<string>(),
    env: {},
    emit: () => {},
    signal,
  };
}
