import { describe, expect, it } from 'vitest';
import { selects } from '../../../src/cluster/api/labels.ts';
import type { NetworkPolicy } from '../../../src/cluster/api/objects.ts';
import { judgePolicies, networkPolicyNotices } from '../../../src/cluster/relay/network-policies.ts';
import { fakeCluster, refusal } from '../../support/fake-cluster.ts';

const question = {
  namespace: 'shop',
  manager: { 'control-plane': 'controller-manager' },
  relay: { 'devloop.dev/relay': 's1' },
  ports: [{ name: 'webhook-server', port: 9443 }],
};
const policy = (name: string, spec: NetworkPolicy['spec']): NetworkPolicy => ({
  metadata: { name, namespace: 'shop' },
  spec,
});
const denyAll = policy('default-deny', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
/** As in kubebuilder's config/network-policy. */
const allowWebhooks = policy('allow-webhook-traffic', {
  podSelector: { matchLabels: { 'control-plane': 'controller-manager' } },
  policyTypes: ['Ingress'],
  ingress: [
    {
      from: [{ namespaceSelector: { matchLabels: { webhook: 'enabled' } } }],
      ports: [{ port: 443, protocol: 'TCP' }],
    },
  ],
});
type Rules = NonNullable<NetworkPolicy['spec']['ingress']>;
const warned = (...ingress: Rules): boolean =>
  judgePolicies([denyAll, policy('rules', { podSelector: {}, ingress })], question).length > 0;

describe('network policies', () => {
  it('are not mentioned where there are none, or the account is not allowed to list them', async () => {
    expect(judgePolicies([], question)).toEqual([]);
    const cluster = fakeCluster();
    cluster.put('NetworkPolicy', denyAll);
    expect(await networkPolicyNotices(cluster.api, question)).toHaveLength(1);
    cluster.hook.before = () => {
      throw refusal(403, 'Forbidden');
    };
    expect(await networkPolicyNotices(cluster.api, question)).toEqual([]);
  });

  it('that block the whole namespace are named, with a policy that opens the port', () => {
    const [event] = judgePolicies([denyAll], question);
    expect(event).toMatchObject({
      type: 'warning',
      code: 'relay.policies-block',
      values: { policies: [{ name: 'default-deny' }], ports: [9443] },
    });
    const { hint } = event as { hint: string };
    const cure = JSON.parse(/'(.*)'/.exec(hint)![1]!) as NetworkPolicy;
    expect(judgePolicies([denyAll, cure], question)).toEqual([]);
  });

  it('that protect only the manager are mentioned in a note', () => {
    const policies = [{ kind: 'NetworkPolicy', namespace: 'shop', name: 'allow-webhook-traffic' }];
    expect(judgePolicies([allowWebhooks], question)).toMatchObject([
      { type: 'note', code: 'relay.policies-bypassed', values: { policies } },
    ]);
    expect(judgePolicies([allowWebhooks], { ...question, manager: undefined })).toEqual([]);
  });

  it('for egress do not matter', () => {
    expect(judgePolicies([policy('out', { podSelector: {}, policyTypes: ['Egress'] })], question)).toEqual(
      [],
    );
  });

  it.each<[string, Rules]>([
    ['everything', [{}]],
    ['the port by number', [{ ports: [{ port: 9443 }] }]],
    ['the port by name', [{ ports: [{ port: 'webhook-server' }] }]],
    ['a range', [{ ports: [{ port: 9000, endPort: 9999 }] }]],
    ['TCP', [{ ports: [{ protocol: 'TCP' }] }]],
    ['every address', [{ from: [{ ipBlock: { cidr: '0.0.0.0/0' } }], ports: [{ port: 9443 }] }]],
    ['it in the second rule', [{ ports: [{ port: 1 }] }, { ports: [{ port: 9443 }] }]],
  ])('open the port to everybody: %s', (_name, rules) => {
    expect(warned(...rules)).toBe(false);
  });

  it.each<[string, Rules]>([
    ['another port', [{ ports: [{ port: 443 }] }]],
    ['another name', [{ ports: [{ port: 'metrics' }] }]],
    ['a range below', [{ ports: [{ port: 9000, endPort: 9442 }] }]],
    ['UDP', [{ ports: [{ port: 9443, protocol: 'UDP' }] }]],
    ['Pods only', [{ from: [{ podSelector: {} }] }]],
    ['some addresses', [{ from: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }]],
    ['all but some', [{ from: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }] }]],
  ])('do not open the port to everybody: %s', (_name, rules) => {
    expect(warned(...rules)).toBe(true);
  });

  it('select as Kubernetes does', () => {
    const by = (operator: string, values?: string[]) => ({
      matchExpressions: [{ key: 'app', operator, ...(values ? { values } : {}) }],
    });
    expect(selects(undefined, {})).toBe(true);
    expect(selects({ matchLabels: { app: 'a' } }, { app: 'b' })).toBe(false);
    expect(selects(by('Exists'), { app: 'a' })).toBe(true);
    expect(selects(by('Exists'), {})).toBe(false);
    expect(selects(by('DoesNotExist'), {})).toBe(true);
    expect(selects(by('In', ['a']), { app: 'a' })).toBe(true);
    expect(selects(by('In', ['a']), {})).toBe(false);
    expect(selects(by('NotIn', ['a']), { app: 'a' })).toBe(false);
    expect(selects(by('NotIn', ['a']), {})).toBe(true);
  });
});
