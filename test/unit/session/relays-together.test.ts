import { expect, it } from 'vitest';
import type { Route } from '../../../src/route/route.ts';
import type { Gateways } from '../../../src/session/route/gateways.ts';
import { together } from '../../../src/session/route/open-relay.ts';

function relay(via: string): Route & { mend(): void } {
  const listeners: (() => void)[] = [];
  return {
    name: 'relay',
    via,
    target: { pods: { app: 'relay' } },
    portFor: (port) => port,
    onReconnected: (listener) => void listeners.push(listener),
    explain: async () => undefined,
    mend: () => listeners.forEach((listener) => void listener()),
    async [Symbol.asyncDispose]() {},
  };
}

it('relays of several namespaces are one route, which is mended when any of them is', () => {
  const all = [relay('Pod a/x'), relay('Pod b/y')];
  const route = together(all, {} as Gateways);
  let mended = 0;
  route.onReconnected(() => mended++);
  for (const one of all) one.mend();
  expect({ via: route.via, mended }).toEqual({ via: 'Pod a/x, Pod b/y', mended: 2 });
});
