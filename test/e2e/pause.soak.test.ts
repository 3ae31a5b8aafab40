import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { deployElecting, leader } from '../support/electing-operator.ts';
import { eventually } from '../support/eventually.ts';
import { deployHooks, HOOK_NAMESPACE } from '../support/hook-operator.ts';
import { hookServer } from '../support/hook-server.ts';
import { SOAK } from '../support/repeat.ts';
import { DEPLOYMENT, IMAGE, NAMESPACE, rolledOut } from '../support/sample-operator.ts';
import { snapshot } from '../support/snapshot.ts';

const AUTOSCALER = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler, namespace: ${NAMESPACE}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ${DEPLOYMENT}}
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`;

/** Each waits for one of Kubernetes' periods, which is 15 seconds, or for as long as a manager may take to start. */
describe.runIf(SOAK)('a manager that is paused', () => {
  let cluster: TestCluster;
  let directory: string;
  let before: Awaited<ReturnType<typeof snapshot>>;
  const up = (...flags: string[]) => {
    const command = ['--', process.execPath, '-e', 'setInterval(() => {}, 1000)'];
    const named = ['--deployment', `${NAMESPACE}/${DEPLOYMENT}`];
    return startDevloop(['up', ...named, ...flags, ...command], options());
  };
  const options = () => ({ cwd: directory, env: { KUBECONFIG: cluster.kubeconfig } });

  beforeAll(async () => {
    cluster = await startCluster({ certManager: false, log: (line) => console.error(line) });
    directory = await mkdtemp(join(tmpdir(), 'devloop-pause-'));
    await deployElecting(cluster);
    before = await snapshot(cluster, NAMESPACE);
  });

  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
    await cluster?.[Symbol.asyncDispose]();
  });

  it('stays at 0 replicas beside a HorizontalPodAutoscaler', async () => {
    await using session = up();
    await session.waitFor('session.ready', undefined, 60_000);
    await cluster.kubectl(['apply', '-f', '-'], { input: AUTOSCALER });
    const path = `/apis/autoscaling/v2/namespaces/${NAMESPACE}/horizontalpodautoscalers/scaler`;
    await eventually(async () => {
      const { status } = (await cluster.read(path)) as { status?: { conditions?: object[] } };
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({ type: 'ScalingActive', status: 'False', reason: 'ScalingDisabled' }),
      );
    }, 120_000);
    const replicas = ['get', 'deployment', DEPLOYMENT, '-o', 'jsonpath={.spec.replicas}'];
    expect(await cluster.kubectl(['-n', NAMESPACE, ...replicas])).toBe('0');
    await cluster.kubectl(['-n', NAMESPACE, 'delete', 'hpa', 'scaler']);
    session.signal('SIGINT');
    expect(await session.exited, session.log()).toBe(130);
    await rolledOut(cluster);
    await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
  });

  it('takes its Lease again on its own after a crash', async () => {
    // The Lease names the Pod of before until it has expired.
    await eventually(async () => {
      const [holder = ''] = ((await leader(cluster)).holderIdentity ?? '').split('_');
      expect(await cluster.kubectl(['-n', NAMESPACE, 'get', 'pods', '-o', 'name'])).toContain(
        `pod/${holder}\n`,
      );
    }, 60_000);
    await using session = up('--pause', 'lease');
    await session.waitFor('session.ready', undefined, 60_000);
    expect((await leader(cluster)).holderIdentity).toMatch(/^devloop-/);
    session.signal('SIGKILL');
    await session.exited;
    await eventually(
      async () => expect((await leader(cluster)).holderIdentity).toContain(DEPLOYMENT),
      60_000,
    );
    const down = await runDevloop(['down'], { ...options(), cwd: tmpdir() });
    expect(down.code, down.log).toBe(0);
    await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
  });

  describe('and has an image that nobody has', () => {
    const setImage = (image: string): Promise<string> =>
      cluster.kubectl(['-n', NAMESPACE, 'set', 'image', `deployment/${DEPLOYMENT}`, `manager=${image}`]);
    const isNamed = (run: Awaited<ReturnType<typeof runDevloop>>): void => {
      expect(run.code, run.log).toBe(4);
      expect(run.events.map(({ type }) => type)).toContain('session.restored');
      expect(run.events.at(-1)).toMatchObject({
        ...{ type: 'error', code: 'manager.not-started' },
        message: expect.stringMatching(
          /container manager: (?:ErrImagePull|ImagePullBackOff|ErrImageNeverPull)/,
        ),
      });
    };
    const down = () => runDevloop(['down'], { ...options(), cwd: tmpdir() });

    it('is named by down after a crash, and is no error where it was like that before', async () => {
      await using killed = up();
      await killed.waitFor('session.ready', undefined, 60_000);
      await setImage('devloop.test/nobody:1');
      killed.signal('SIGKILL');
      await killed.exited;
      isNamed(await down());
      await using again = up();
      await again.waitFor('session.ready', undefined, 60_000);
      again.signal('SIGKILL');
      await again.exited;
      const { code, log, events } = await down();
      expect(code, log).toBe(0);
      expect(events.filter(({ type }) => type === 'warning')).not.toEqual([]);
      await setImage(IMAGE.replace('docker.io/library/', ''));
      await rolledOut(cluster);
    });
  });

  it('in a StatefulSet whose Pods are refused at the end is named with the cause, and everything is restored nevertheless', async () => {
    await deployHooks(cluster, 'StatefulSet');
    // Without Pods, the Services have no endpoints.
    const { slices: _, endpoints: __, ...hooks } = await snapshot(cluster, HOOK_NAMESPACE);
    const services = ['--service', `${HOOK_NAMESPACE}/first`, '--service', `${HOOK_NAMESPACE}/second`];
    await using session = startDevloop(
      ['up', ...services, ...hookServer('local', '9444', '9445')],
      options(),
    );
    await session.waitFor('session.ready', undefined, 60_000);
    const metadata = { name: 'none', namespace: HOOK_NAMESPACE };
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { pods: '0' } } };
    await cluster.apply([quota]);
    // kube-apiserver admits Pods until it has seen the quota.
    const used = ['-n', HOOK_NAMESPACE, 'get', 'resourcequota', 'none', '-o', 'jsonpath={.status.hard.pods}'];
    await eventually(async () => expect(await cluster.kubectl(used)).toBe('0'));
    session.signal('SIGINT');
    await session.waitFor('session.restored', undefined, 150_000);
    expect(await session.exited, session.log()).toBe(4);
    expect(session.events.at(-1)).toMatchObject({
      ...{ type: 'error', code: 'manager.not-started' },
      message: expect.stringMatching(/StatefulSet hooks\/hooks .*exceeded quota: none/),
    });
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toMatchObject(hooks);
  });
});
