import { describe, expect, it } from 'vitest';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { Service, WebhookConfiguration } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { closedWebhooks, policyCommand } from '../../../src/operator/closed-webhooks.ts';
import { listConfigurations } from '../../../src/operator/webhooks.ts';
import { fakeCluster, refusal } from '../../support/fake-cluster.ts';

type Webhook = NonNullable<WebhookConfiguration['webhooks']>[number];

const namespace = 'shop';
const service: ObjectRef = { kind: 'Service', namespace, name: 'webhook' };
const manager: ObjectRef = { kind: 'Deployment', namespace, name: 'manager' };
const TAKEN = [
  { ref: service, object: { metadata: { name: 'webhook', namespace }, spec: {} } as Service },
  {
    ref: manager,
    object: {
      metadata: { name: 'manager', namespace, labels: { tier: 'system' } },
      spec: {
        selector: {},
        template: { metadata: { labels: { app: 'manager' } }, spec: { containers: [] } },
      },
    } as Workload,
  },
];

const webhook = (resources: string[], more: Partial<Webhook> = {}): Webhook => ({
  name: `${resources[0]!.replace('/', '-')}.example.com`,
  clientConfig: { service: { namespace, name: 'webhook' } },
  rules: [{ apiGroups: ['*'], resources, operations: ['CREATE', 'UPDATE'] }],
  ...more,
});

async function found(webhooks: Webhook[], taken: typeof TAKEN | { ref: ObjectRef }[] = TAKEN) {
  const cluster = fakeCluster();
  const labels = { 'kubernetes.io/metadata.name': namespace };
  cluster.put('Namespace', { metadata: { name: namespace, labels } });
  cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', { metadata: { name: 'v' }, webhooks });
  return (await closedWebhooks(cluster.api, taken, listConfigurations(cluster.api))).map(
    ({ name, isScalable }) => ({ name, isScalable }),
  );
}

const exists = (key: string, operator: string) => ({ matchExpressions: [{ key, operator }] });

describe('webhooks that block a restore', () => {
  it.each<[string, Webhook, boolean]>([
    ['reviews Services', webhook(['services']), true],
    ['reviews Pods', webhook(['pods']), true],
    ['reviews everything', webhook(['*']), true],
    ['reviews every subresource', webhook(['*/scale']), true],
    ['reviews the tokens of ServiceAccounts', webhook(['serviceaccounts/token']), true],
    ['reviews ConfigMaps', webhook(['configmaps']), false],
    [
      'reviews deletions alone',
      webhook(['pods'], { rules: [{ apiGroups: [''], resources: ['pods'], operations: ['DELETE'] }] }),
      false,
    ],
    [
      'reviews another group',
      webhook(['pods'], { rules: [{ apiGroups: ['apps'], resources: ['pods'], operations: ['*'] }] }),
      false,
    ],
    ['fails open', webhook(['services'], { failurePolicy: 'Ignore' }), false],
    [
      'is called elsewhere',
      webhook(['services'], { clientConfig: { service: { namespace, name: 'other' } } }),
      false,
    ],
    [
      'leaves the namespace out',
      webhook(['pods'], { namespaceSelector: exists('kubernetes.io/metadata.name', 'DoesNotExist') }),
      false,
    ],
    [
      "leaves the manager's Pods out",
      webhook(['pods'], { objectSelector: exists('app', 'DoesNotExist') }),
      false,
    ],
    [
      "names the manager's Pods",
      webhook(['pods'], { objectSelector: { matchLabels: { app: 'manager' } } }),
      true,
    ],
    ['names other Pods', webhook(['pods'], { objectSelector: { matchLabels: { app: 'other' } } }), false],
  ])('one that %s', async (_, one, isFound) => {
    expect(await found([one])).toHaveLength(isFound ? 1 : 0);
  });

  it('are scalable as long as they review Deployments alone', async () => {
    expect(
      await found([webhook(['deployments']), webhook(['deployments/scale']), webhook(['deployments/*'])]),
    ).toEqual([
      { name: 'deployments.example.com', isScalable: true },
      { name: 'deployments-scale.example.com', isScalable: false },
      { name: 'deployments-*.example.com', isScalable: false },
    ]);
  });

  it('count where labels that decide are not known', async () => {
    const one = webhook(['pods'], { objectSelector: exists('app', 'DoesNotExist') });
    expect(await found([one], [{ ref: service }, { ref: manager }])).toHaveLength(1);
  });

  it('are not looked for without permission', async () => {
    const cluster = fakeCluster();
    cluster.hook.before = (verb) => {
      if (verb === 'list') throw refusal(403, 'Forbidden');
    };
    expect(await closedWebhooks(cluster.api, TAKEN, listConfigurations(cluster.api))).toEqual([]);
  });

  it('are all named in one command', () => {
    const one = { name: 'a.example.com', isScalable: false, isUncertain: false };
    const validating = { kind: 'ValidatingWebhookConfiguration', name: 'v' } as const;
    const mutating = { kind: 'MutatingWebhookConfiguration', name: 'm' } as const;
    const closed = [
      { ...one, from: validating },
      { ...one, from: mutating },
      { ...one, from: validating, name: 'b.example.com' },
    ];
    expect(policyCommand('dev', closed, 'Ignore')).toBe(
      `kubectl --context dev patch validatingwebhookconfiguration v -p '{"webhooks":[{"name":"a.example.com","failurePolicy":"Ignore"},{"name":"b.example.com","failurePolicy":"Ignore"}]}' && kubectl --context dev patch mutatingwebhookconfiguration m -p '{"webhooks":[{"name":"a.example.com","failurePolicy":"Ignore"}]}'`,
    );
  });
});

it('a DaemonSet is restored with its history, a StatefulSet and a Deployment without', async () => {
  const rules = [{ apiGroups: ['apps'], resources: ['controllerrevisions'], operations: ['DELETE'] }];
  const history = webhook(['controllerrevisions'], { rules });
  const of = (kind: ObjectRef['kind']) => found([history], [{ ref: service }, { ref: { ...manager, kind } }]);
  expect(await of('DaemonSet')).toEqual([{ name: 'controllerrevisions.example.com', isScalable: false }]);
  expect([await of('StatefulSet'), await of('Deployment')]).toEqual([[], []]);
});
