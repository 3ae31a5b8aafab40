/** A policy refuses to restore the Services: reviews are answered all the same, and the next `down` restores the rest. */
import { tmpdir } from 'node:os';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { askHook, HOOK_NAMESPACE } from '../support/hook-operator.ts';

const POLICY = 'frozen-services.example.com';
const GROUP = { apiVersion: 'admissionregistration.k8s.io/v1' };
const KINDS = ['validatingadmissionpolicybinding', 'validatingadmissionpolicy'];

let operator: HollowOperator;

beforeAll(async () => {
  operator = await sharedHollowOperator();
});

const env = (): Record<string, string> => ({ KUBECONFIG: operator.cluster.kubeconfig });
const down = () => runDevloop(['down'], { cwd: tmpdir(), env: env() });

/** Whether the API server would let somebody change the Service now. It learns of a policy a moment later. */
async function isChangeable(name: string): Promise<boolean> {
  const label = ['label', 'service', name, 'x=y', '--dry-run=server'];
  return await operator.cluster.kubectl(['-n', HOOK_NAMESPACE, ...label]).then(
    () => true,
    () => false,
  );
}

async function freezeServices(): Promise<void> {
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['services'] };
  const items = [
    {
      ...GROUP,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: POLICY },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: 'false', message: 'Services are frozen', reason: 'Forbidden' }],
      },
    },
    {
      ...GROUP,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: POLICY },
      spec: { policyName: POLICY, validationActions: ['Deny'] },
    },
  ];
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await operator.cluster.kubectl(['apply', '-f', '-'], { input });
  await eventually(async () => expect(await isChangeable('first')).toBe(false), 30_000);
}

async function unfreezeServices(): Promise<void> {
  for (const kind of KINDS) await operator.cluster.kubectl(['delete', kind, POLICY, '--ignore-not-found']);
  await eventually(async () => expect(await isChangeable('first')).toBe(true), 30_000);
}

/** Fails unless kube-apiserver gets each answer, now and a moment later, when kube-proxy and its caches have caught up. */
async function expectAnswered(): Promise<void> {
  for (let round = 0; round < 10; round++)
    await Promise.all(['first', 'second', 'third'].map((name) => askHook(operator.cluster, name)));
}

it.each(['SIGINT', 'SIGKILL'] as const)(
  'a policy keeps the Services from being restored after %s: the Pods answer, and the next down restores the rest',
  async (end) => {
    onTestFinished(unfreezeServices);
    await using up = startDevloop(operator.up, { cwd: operator.directory, env: env() });
    await up.waitFor('session.ready');
    await freezeServices();
    up.signal(end);
    const code = await up.exited;
    const refused = {
      type: 'error',
      code: 'cluster.forbidden',
      hint: expect.stringContaining(`validatingadmissionpolicy ${POLICY}`),
    };
    if (end === 'SIGINT') {
      expect(code, up.log()).toBe(3);
      expect(up.events.at(-1)).toMatchObject(refused);
      await expectAnswered();
    }
    const failed = await down();
    expect(failed.code, failed.log).toBe(3);
    expect(failed.events.at(-1)).toMatchObject(refused);
    await expectAnswered();
    await unfreezeServices();
    const restored = await down();
    expect(restored.code, restored.log).toBe(0);
    await expectAnswered();
    await operator.expectRestored();
  },
);
