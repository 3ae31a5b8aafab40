import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import type { Lease } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { SESSION_LABEL } from '../../../src/cluster/names.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import type { Target } from '../../../src/operator/target.ts';
import { withoutPausedReconcilers } from '../../../src/session/context/holders.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { partly } from '../../support/partly.ts';

const REF = { kind: 'Deployment', namespace: 'shop', name: 'operator' } as const;

/** What is left to pause if a session has marked the reconciler. Its process has this start time. */
async function leftToPause(processStart: string, marked = true): Promise<number> {
  const cluster = fakeCluster();
  const labels = { [SESSION_LABEL]: 's1' };
  const object = partly<Workload>({ metadata: { ...REF, ...(marked && { labels }) }, spec: {} });
  const holder = { user: 'ann', host: hostname(), pid: process.pid, processStart, since: '', targets: [REF] };
  const annotations = {
    'devloop.dev/holder': JSON.stringify({ ...holder, route: 'none', health: 'serving' }),
  };
  cluster.put<Lease>('Lease', {
    metadata: { namespace: 'shop', name: 'devloop.deployment.operator', labels, annotations },
    spec: { holderIdentity: 'ann@here', renewTime: new Date().toISOString(), leaseDurationSeconds: 1 },
  });
  const observer = { api: cluster.api, emit: () => {}, signal: new AbortController().signal };
  const target = partly<Target>({ services: [], reconcilers: [{ ref: REF, object }] });
  const machine = await thisMachine({ HOME: '/nonexistent' });
  return (await withoutPausedReconcilers(observer, target, machine)).reconcilers!.length;
}

test('a reconciler that a live session has paused is not paused again; one of a dead session is', async () => {
  const now = startTimeOf(process.pid)!;
  expect(await leftToPause(now)).toBe(0);
  // It is about to be paused.
  expect(await leftToPause(now, false)).toBe(0);
  expect(await leftToPause(now.replace(/\d+$/, '1'))).toBe(1);
});
