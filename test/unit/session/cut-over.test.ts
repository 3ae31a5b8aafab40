import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import { type CutOver, cutOver } from '../../../src/session/route/cut-over.ts';
import { controllerSlice } from '../../support/controller-slice.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { sshSession } from '../../support/ssh-session.ts';

/** Longer than the turn of the event loop after which a rejection counts as unhandled. */
const LATER_MS = 50;

let cluster: FakeCluster;
let service: Service;
let unhandled: unknown[];
const onUnhandled = (error: unknown): void => void unhandled.push(error);

beforeEach(() => {
  cluster = fakeCluster();
  service = cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  unhandled = [];
  process.on('unhandledRejection', onUnhandled);
});
afterEach(() => void process.off('unhandledRejection', onUnhandled));

async function cutOverNow(): Promise<CutOver> {
  const { signal } = new AbortController();
  const { routing, open } = sshSession(cluster.api, service, { emit() {}, signal, portFor: () => 1000 });
  return await cutOver(routing, open, new Map([['webhook.shop.svc', { pair: {} }]]) as never);
}

it('fails with the reason why a Service was not pointed here, also if the probe does not exist yet', async () => {
  cluster.edit<Service>('Service', 'webhook', 'shop', ({ spec }) => {
    spec.selector = { app: 'other' };
  });
  const refused = Promise.withResolvers<void>();
  cluster.hook.before = async (verb, what) => {
    if (verb === 'create' && what.startsWith('ValidatingWebhookConfiguration')) await refused.promise;
    if (verb === 'get' && what === 'Service shop/webhook') setTimeout(refused.resolve, LATER_MS);
  };
  await expect(cutOverNow()).rejects.toMatchObject({ code: 'change.conflict' });
  expect(unhandled).toEqual([]);
});

it('is done when reviews arrive here; whoever awaits the rest later gets its failure', async () => {
  cluster.put('EndpointSlice', controllerSlice('webhook', ['10.1.0.9']));
  // The first write points the slice here, and the second one empties it.
  let replaced = 0;
  cluster.hook.before = (verb, what) => {
    const nonce = /^ConfigMap shop\/devloop-probe-(\w+)$/.exec(what)?.[1];
    if (nonce !== undefined)
      throw refusal(
        403,
        'Forbidden',
        `"probe.devloop.dev" denied: devloop probe ${nonce} reached session s1`,
      );
    if (verb === 'replace' && what === 'EndpointSlice shop/webhook-x' && replaced++ === 1)
      throw refusal(403, 'Forbidden');
  };
  const { cleared } = await cutOverNow();
  await sleep(LATER_MS);
  await expect(cleared).rejects.toMatchObject({ code: 'cluster.forbidden' });
  expect(unhandled).toEqual([]);
});
