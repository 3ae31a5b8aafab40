import { beforeEach, expect, it } from 'vitest';
import type { Pod } from '../../../src/cluster/api/workloads.ts';
import { type StartedRelay, startRelay } from '../../../src/cluster/relay/pod.ts';
import { keepRelay } from '../../../src/cluster/relay/watch.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const SPEC = {
  ...{ namespace: 'shop', image: 'node', program: '', config: '{}', protocol: 'p', ports: [] },
  ...{ controlPort: 7000, proxyPort: 7001 },
};

let cluster: FakeCluster;
let warnings: DevloopEvent[];
let leaving: AbortController;

beforeEach(() => {
  cluster = fakeCluster();
  warnings = [];
  leaving = new AbortController();
});

const work = () => ({
  ...{ api: cluster.api, sessionId: 's1', signal: leaving.signal },
  emit: (event: DevloopEvent) => void (event.type === 'warning' && warnings.push(event)),
});

async function start(): Promise<StartedRelay> {
  return await startRelay(work(), SPEC);
}

/** What the first, the second and the third look at the Pod find. */
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

it.each(['goes on', 'is ending', 'ends'])(
  'a relay that cannot be replaced is a warning where its session goes on: %s',
  async (what) => {
    whenLookedAt(becomesReady);
    const relay = await keepRelay('shop').apply(work(), SPEC);
    if (what === 'is ending') leaving.abort();
    // Kubernetes deletes the Pod together with its Secret.
    cluster.drop('Secret', 'devloop-relay-s1', 'shop');
    cluster.drop('Pod', relay.pod, 'shop');
    const secret = 'Secret shop/devloop-relay-s1';
    await eventually(async () => expect(cluster.calls).toContain(`get ${secret}`));
    if (what === 'goes on') await eventually(async () => expect(warnings).not.toEqual([]));
    await relay[Symbol.asyncDispose]();
    expect(warnings).toMatchObject(
      what === 'goes on'
        ? [{ code: 'relay.lost', values: { secret: { namespace: 'shop', name: 'devloop-relay-s1' } } }]
        : [],
    );
  },
);
