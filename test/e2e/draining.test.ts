/** A Pod of the in-cluster manager that does not end for a long time does not keep `up` from being ready. */
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { askHook, HOOK_NAMESPACE } from '../support/hook-operator.ts';

let operator: HollowOperator;

beforeAll(async () => {
  operator = await sharedHollowOperator();
});

it('ready names the Pod that still drains, and manager.gone follows when it has ended', async () => {
  const { cluster } = operator;
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(['-n', HOOK_NAMESPACE, ...args]);
  const [pod = ''] = (await kubectl('get', 'pods', '-l', 'app=hooks', '-o', 'name')).split('\n');
  // A Pod with a finalizer does not end, like one that takes all its grace period.
  const finalizers = (list: string[]): Promise<string> =>
    kubectl('patch', pod, '--type', 'merge', '-p', JSON.stringify({ metadata: { finalizers: list } }));
  await finalizers(['example.com/drains']);
  const drained = async (): Promise<void> => void (await finalizers([]).catch(() => {}));
  onTestFinished(drained);
  const env = { KUBECONFIG: cluster.kubeconfig };
  await using up = startDevloop(operator.up, { cwd: operator.directory, env });
  const ready = await up.waitForAny(({ type }) => type === 'session.ready');
  // The Pod without a finalizer may need a moment longer, too.
  expect(ready).toMatchObject({ oldPods: expect.any(Number) });
  // kube-apiserver calls the old Pod over connections that are open, for as long as they are used; one of many calls needs a new one.
  for (const name of ['first', 'second'])
    await eventually(async () => {
      const calls = await Promise.allSettled(Array.from({ length: 30 }, () => askHook(cluster, name)));
      const refusals = calls.map((call) =>
        call.status === 'rejected' ? String(call.reason) : 'by the old Pod',
      );
      expect(refusals).toContainEqual(expect.stringMatching(/local on \d+ says no/));
    });
  expect(up.events.map(({ type }) => type)).not.toContain('manager.gone');
  await drained();
  await up.waitFor('manager.gone');
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  await operator.expectRestored();
});
