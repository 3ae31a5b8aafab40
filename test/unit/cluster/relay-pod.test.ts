import { beforeEach, expect, it } from 'vitest';
import type { Pod } from '../../../src/cluster/api/workloads.ts';
import { type StartedRelay, startRelay } from '../../../src/cluster/relay/pod.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

let cluster: FakeCluster;

beforeEach(() => {
  cluster = fakeCluster();
});

async function start(): Promise<StartedRelay> {
  const spec = {
    ...{ namespace: 'shop', image: 'node', program: '', config: '{}', protocol: 'p', ports: [] },
    ...{ controlPort: 7000, proxyPort: 7001 },
  };
  const { signal } = new AbortController();
  return await startRelay({ api: cluster.api, sessionId: 's1', emit() {}, signal }, spec);
}

/** What happens to the Pod when it is looked at for the first, the second and the third time. */
function whenLookedAt(...happens: ((name: string) => void)[]): void {
  cluster.hook.before = (verb, what) => {
    if (verb === 'get' && what.startsWith('Pod ')) happens.shift()?.(what.split('/')[1]!);
  };
}

function becomesReady(name: string): void {
  cluster.edit<Pod>('Pod', name, 'shop', (pod) => {
    pod.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  });
}

it('waits on while the API server does not say what becomes of the Pod', async () => {
  const away = (): never => {
    throw refusal(503, 'ServiceUnavailable');
  };
  whenLookedAt(() => {}, away, becomesReady);
  const { pod } = await start();
  expect(cluster.names('Pod')).toEqual([pod]);
});

it('leaves nothing behind where the Pod cannot be looked at', async () => {
  whenLookedAt(() => {
    throw refusal(403, 'Forbidden');
  });
  await expect(start()).rejects.toMatchObject({ code: 'cluster.forbidden' });
  expect([cluster.names('Pod'), cluster.names('Secret')]).toEqual([[], []]);
});
