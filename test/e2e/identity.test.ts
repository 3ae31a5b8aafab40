/** As whom the controller calls the API server: as its ServiceAccount, with a token or by impersonation, or as the user. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/errors.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { account, type Rule } from '../support/account.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { application, type Checkout, checkoutSample, NAMESPACE } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';

const BUILT_MS = 240_000;
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:application-operator-controller-manager`;
const groups = ['*'];
/** Everything that `up` needs, and no more than that for ServiceAccounts. */
const UP: Rule[] = [
  { apiGroups: groups, resources: ['*'], verbs: ['get', 'list', 'watch', 'patch', 'update', 'delete'] },
  {
    apiGroups: groups,
    resources:
      'services configmaps endpoints endpointslices leases pods validatingwebhookconfigurations'.split(' '),
    verbs: ['create'],
  },
];
const IMPERSONATE: Rule = { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] };

let cluster: TestCluster;
let checkout: Checkout;
let before: Awaited<ReturnType<typeof snapshot>>;

beforeAll(async () => {
  [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  before = await snapshot(cluster, NAMESPACE);
});

afterAll(() => checkout?.[Symbol.asyncDispose]());

interface Ready extends AsyncDisposable {
  up: DevloopRun;
  /** Runs kubectl with the kubeconfig of the controller. */
  kubectl(...args: string[]): Promise<string>;
}

async function ready(kubeconfig: string, ...flags: string[]): Promise<Ready> {
  const up = startDevloop(['up', ...flags], { cwd: checkout.directory, env: { KUBECONFIG: kubeconfig } });
  await up.waitFor('session.ready', undefined, BUILT_MS);
  const { pid } = up.events.find((event) => event.type === 'controller.started')!;
  const variables = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  const own = variables.find((one) => one.startsWith('KUBECONFIG='))!.slice('KUBECONFIG='.length);
  return {
    up,
    kubectl: (...args) => cluster.kubectl(args, { kubeconfig: own }),
    async [Symbol.asyncDispose]() {
      up.signal('SIGINT');
      expect(await up.exited, up.log()).toBe(130);
      await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
    },
  };
}

const whoAmI = async ({ kubectl }: Ready): Promise<string> =>
  (await kubectl('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).trim();

it('the controller works as its ServiceAccount, with a token', async () => {
  await using session = await ready(cluster.kubeconfig);
  expect(session.up.events).toContainEqual(
    expect.objectContaining({ type: 'controller.identity', how: 'token', account: ACCOUNT }),
  );
  expect(await whoAmI(session)).toBe(ACCOUNT);
  await cluster.kubectl(['apply', '-f', '-'], { input: application('as-account', 'example.com/shop:1') });
  await eventually(async () => {
    const replicas = ['get', 'deployment', 'as-account', '-o', 'jsonpath={.spec.replicas}'];
    expect(await cluster.kubectl(replicas)).toBe('1');
  });
  // The controller adds its finalizer, which its own webhooks review.
  const review = await session.up.waitFor('review', ({ user }) => user === ACCOUNT);
  expect(review.isOwnUser).toBe(true);
  expect(await session.kubectl('auth', 'can-i', 'delete', 'nodes').catch(String)).toContain('no');
  await cluster.kubectl(['delete', 'application', 'as-account', '--wait']);
});

it('who may not create tokens impersonates it', async () => {
  const kubeconfig = await account(cluster, 'impersonator', [...UP, IMPERSONATE]);
  await using session = await ready(kubeconfig);
  expect(session.up.events).toContainEqual(
    expect.objectContaining({ type: 'controller.identity', how: 'impersonation' }),
  );
  expect(await whoAmI(session)).toBe(ACCOUNT);
  const seen = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.groups}'];
  expect(JSON.parse(await session.kubectl(...seen))).toEqual(
    expect.arrayContaining([
      ...['system:serviceaccounts', `system:serviceaccounts:${NAMESPACE}`, 'system:authenticated'],
    ]),
  );
  await expect(session.kubectl('auth', 'whoami', '--as', 'bob')).rejects.toThrow(/permission/);
});

it('who may do neither works as themselves with a warning, or not at all', async () => {
  const kubeconfig = await account(cluster, 'neither', UP);
  const demanding = { cwd: checkout.directory, env: { KUBECONFIG: kubeconfig } };
  const { code, events } = await runDevloop(['up', '--identity', 'serviceaccount'], demanding);
  expect(code).toBe(CATALOGUE['identity.refused'].exit);
  expect(events).toContainEqual(expect.objectContaining({ type: 'error', code: 'identity.refused' }));
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  await using session = await ready(kubeconfig);
  expect(session.up.events).toContainEqual(expect.objectContaining({ code: 'identity.as-user' }));
  expect(await whoAmI(session)).toBe('neither');
});

it('a rule that the role lacks is named at once, with what adds it', async () => {
  const ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/application-operator-manager-role';
  const role = (await cluster.call('GET', ROLE)) as { rules: Rule[] };
  const set = async (rules: Rule[]): Promise<void> =>
    void (await cluster.call('PUT', ROLE, { ...role, metadata: NAMED, rules }));
  const NAMED = { name: 'application-operator-manager-role' };
  await set(role.rules.filter(({ resources }) => !resources.includes('deployments')));
  await using _ = { [Symbol.asyncDispose]: () => set(role.rules) };
  await using session = await ready(cluster.kubeconfig);
  const { up } = session;
  const refused = await up.waitFor('warning', ({ code }) => code === 'api.forbidden');
  expect(refused.values).toMatchObject({
    ...{ verbs: ['list', 'watch'], group: 'apps', resource: 'deployments', account: ACCOUNT, times: 1 },
    ...{ marker: '// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch' },
    ...{ file: 'config/rbac/role.yaml' },
  });
  const { command } = refused.values as { command: string };
  await cluster.kubectl(shellWords(command).slice(1));
  await cluster.kubectl(['apply', '-f', '-'], { input: application('lacking', 'example.com/shop:1') });
  const create = await up.waitFor('warning', ({ code }) => code === 'api.forbidden');
  expect(create.values).toMatchObject({ verbs: ['create'], resource: 'deployments', namespace: 'default' });
  await cluster.kubectl(['delete', 'application', 'lacking', '--wait']);
});

/** The words of a command without nested quotes. */
function shellWords(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
}
