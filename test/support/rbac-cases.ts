import type { PolicyRule } from '../../src/operator/manifests/rules.ts';
import type { Access } from '../../src/report/rbac.ts';

/** What Kubernetes' RBAC decides. `test/e2e/rbac.test.ts` asks a real API server about each. */
export interface RbacCase {
  about: string;
  rule: PolicyRule;
  /** Where the rule is bound; absent for the whole cluster. */
  namespace?: string;
  access: Access;
  isAllowed: boolean;
}

const on = (resources: string[], verbs: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
  ...{ apiGroups: [''], resources, verbs },
  ...more,
});
const get = (resource: string, more: Partial<Access> = {}): Access => ({
  ...{ verb: 'get', group: '', resource, namespace: 'default' },
  ...more,
});
const READ = ['get', 'list'];
const NAMED = { resourceNames: ['a'] };

export const RBAC_CASES: RbacCase[] = [
  { about: 'the same', rule: on(['pods'], READ), access: get('pods'), isAllowed: true },
  {
    about: 'another verb',
    rule: on(['pods'], READ),
    access: get('pods', { verb: 'watch' }),
    isAllowed: false,
  },
  {
    about: 'another group',
    rule: on(['pods'], READ),
    access: get('pods', { group: 'apps' }),
    isAllowed: false,
  },
  {
    about: 'any verb and group',
    rule: { apiGroups: ['*'], resources: ['deployments'], verbs: ['*'] },
    access: get('deployments', { verb: 'deletecollection', group: 'apps' }),
    isAllowed: true,
  },
  {
    about: 'a subresource is not in its resource',
    rule: on(['pods'], READ),
    access: get('pods/status'),
    isAllowed: false,
  },
  {
    about: 'a resource is not in its subresource',
    rule: on(['pods/status'], READ),
    access: get('pods'),
    isAllowed: false,
  },
  {
    about: 'any resource has its subresources',
    rule: on(['*'], READ),
    access: get('pods/status'),
    isAllowed: true,
  },
  {
    about: 'that subresource of any resource',
    rule: on(['*/status'], READ),
    access: get('pods/status'),
    isAllowed: true,
  },
  {
    about: 'another subresource of any resource',
    rule: on(['*/status'], READ),
    access: get('pods/log'),
    isAllowed: false,
  },
  {
    about: 'any subresource is no word',
    rule: on(['pods/*'], READ),
    access: get('pods/log'),
    isAllowed: false,
  },
  {
    about: 'the named object',
    rule: on(['secrets'], READ, NAMED),
    access: get('secrets', { name: 'a' }),
    isAllowed: true,
  },
  {
    about: 'another object',
    rule: on(['secrets'], READ, NAMED),
    access: get('secrets', { name: 'b' }),
    isAllowed: false,
  },
  {
    about: 'a list of all is not about a named object',
    rule: on(['secrets'], READ, NAMED),
    access: get('secrets', { verb: 'list' }),
    isAllowed: false,
  },
  {
    about: 'a list of one name is',
    rule: on(['secrets'], READ, NAMED),
    access: get('secrets', { verb: 'list', name: 'a' }),
    isAllowed: true,
  },
  {
    about: 'a create names nothing',
    rule: on(['secrets'], ['create'], NAMED),
    access: get('secrets', { verb: 'create' }),
    isAllowed: false,
  },
  {
    about: 'a Role in its namespace',
    rule: on(['pods'], READ),
    namespace: 'default',
    access: get('pods'),
    isAllowed: true,
  },
  {
    about: 'a Role in another namespace',
    rule: on(['pods'], READ),
    namespace: 'kube-system',
    access: get('pods'),
    isAllowed: false,
  },
  {
    about: 'a Role and all namespaces',
    rule: on(['pods'], READ),
    namespace: 'default',
    access: { verb: 'list', group: '', resource: 'pods' },
    isAllowed: false,
  },
  {
    about: 'a Role and its own namespace',
    rule: on(['namespaces'], READ),
    namespace: 'default',
    access: get('namespaces', { name: 'default' }),
    isAllowed: true,
  },
  {
    about: 'a path',
    rule: { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    access: { verb: 'get', path: '/metrics' },
    isAllowed: true,
  },
  {
    about: 'a path below another',
    rule: { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    access: { verb: 'get', path: '/metrics/a' },
    isAllowed: false,
  },
  {
    about: 'all paths that begin so',
    rule: { nonResourceURLs: ['/logs/*'], verbs: ['get'] },
    access: { verb: 'get', path: '/logs/a/b' },
    isAllowed: true,
  },
  {
    about: 'any resource is no path',
    rule: { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    access: { verb: 'get', path: '/metrics' },
    isAllowed: false,
  },
];
