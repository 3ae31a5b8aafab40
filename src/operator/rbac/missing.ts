import { type Access, inOrder, type MissingRule, type Need } from '../../report/rbac.ts';
import { type Grant, grants } from '../manifests/granting.ts';
import type { ClusterGrant } from './bound.ts';

/** What the needs of a session are compared with. */
export interface Roles {
  /** Absent if the cluster was not read. */
  cluster?: ClusterGrant[] | undefined;
  checkout: Grant[];
  /** Whether the checkout binds further roles, whose rules it does not have. */
  hasOthers: boolean;
}

/** What Kubernetes allows every account, unless somebody has changed that. */
const FOR_ALL: Grant = {
  role: { kind: 'ClusterRole', name: 'system:discovery' },
  rules: [
    {
      nonResourceURLs: [
        ...['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/readyz', '/version', '/version/'],
        ...['/openapi', '/openapi/*'],
      ],
      verbs: ['get'],
    },
    {
      apiGroups: ['authorization.k8s.io', 'authentication.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'selfsubjectreviews'],
      verbs: ['create'],
    },
  ],
};
const MOST_SHOWN = 10;

/** What the calls needed and the roles of the cluster, or else those of the checkout, do not allow. */
export function missingRules(needs: Need[], roles: Roles): MissingRule[] {
  const found = new Map<string, Lacking[]>();
  for (const need of needs) {
    const one = lackingOf(need, roles) ?? lackingOf(creationOf(need), roles);
    if (one === undefined) continue;
    const { group, resource, path } = one.need;
    const key = JSON.stringify([group, resource, path, one.cluster, one.isInCheckout]);
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return [...found.values()].map(asRule);
}

const RBAC_GROUP = 'rbac.authorization.k8s.io';
const WRITES = ['create', 'update', 'patch'];

/** The roles and bindings, by their plurals, that the calls wrote. RBAC then also judges what is in them. */
export function writtenRoles(needs: Need[]): string[] {
  const written = needs.filter(({ group, verb }) => group === RBAC_GROUP && WRITES.includes(verb));
  return [...new Set(written.map(({ resource }) => resource!))];
}

interface Lacking {
  need: Need;
  names: string[];
  cluster: MissingRule['cluster'];
  isInCheckout: boolean;
}

/** Undefined if nothing is missing. */
function lackingOf(need: Need | undefined, { cluster, checkout, hasOthers }: Roles): Lacking | undefined {
  if (need === undefined) return undefined;
  const lacks = (all: Grant[]): string[] =>
    need.names.filter((name) => !all.some((grant) => grants(grant, accessOf(need, name))));
  const inCheckout = lacks([...checkout, FOR_ALL]);
  const isInCheckout = inCheckout.length === 0;
  if (cluster === undefined)
    return isInCheckout ? undefined : { need, names: inCheckout, cluster: 'unknown', isInCheckout };
  const names = lacks(cluster);
  if (names.length > 0) return { need, names, cluster: 'missing', isInCheckout };
  // What every account may do, a checkout need not say.
  const isForOthers = lacks(cluster.filter(({ isOwn }) => !isOwn)).length === 0;
  const isKnown = checkout.length > 0 && !hasOthers;
  if (!isKnown || isInCheckout || isForOthers) return undefined;
  return { need, names: inCheckout, cluster: 'granted', isInCheckout };
}

/** An apply of what may be patched, and which was refused, may have been refused because it creates. */
function creationOf({ refused, mayCreate, ...need }: Need): Need | undefined {
  return mayCreate && refused > 0 ? { ...need, verb: 'create', refused, calls: refused } : undefined;
}

function accessOf({ verb, group, resource, path, namespace }: Need, name: string): Access {
  return {
    verb,
    ...(path === undefined ? { group: group!, resource: resource!, name } : { path }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

function asRule(all: Lacking[]): MissingRule {
  const [{ need, cluster }] = all as [Lacking];
  const { group, resource, path } = need;
  const sum = (of: (need: Need) => number): number => all.reduce((count, one) => count + of(one.need), 0);
  const namespaces = all.map((one) => one.need.namespace);
  const names = all.flatMap((one) => one.names);
  return {
    ...(path === undefined ? { group: group!, resource: resource! } : { path }),
    verbs: inOrder(all.map((one) => one.need.verb)),
    cluster,
    ...(namespaces.includes(undefined) ? {} : { namespaces: first(namespaces as string[]) }),
    ...(names.includes('') ? {} : { names: first(names) }),
    calls: sum(({ calls }) => calls),
    refused: sum(({ refused }) => refused),
  };
}

function first(all: string[]): string[] {
  return [...new Set(all)].slice(0, MOST_SHOWN);
}
