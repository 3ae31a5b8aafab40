import { expect, it } from 'vitest';
import type { Route } from '../../../src/route/route.ts';
import type { Gateways } from '../../../src/session/route/gateways.ts';
import { together } from '../../../src/session/route/relay.ts';

function relay(via: string): Route & { reconnect(): void } {
  const listeners: (() => void)[] = [];
  return {
    name: 'relay',
    via,
    target: { pods: { app: 'relay' } },
    portFor: (port) => port,
    onReconnected: (listener) => void listeners.push(listener),
    explain: async () => undefined,
    reconnect: () => listeners.forEach((listener) => void listener()),
    async [Symbol.asyncDispose]() {},
  };
}

it('relays of several namespaces are one route, which reconnects when any of them does', () => {
  const all = [relay('Pod a/x'), relay('Pod b/y')];
  const route = together(all, {} as Gateways);
  let reconnected = 0;
  route.onReconnected(() => reconnected++);
  for (const one of all) one.reconnect();
  expect({ via: route.via, reconnected }).toEqual({ via: 'Pod a/x, Pod b/y', reconnected: 2 });
});
