import type { Access } from '../../report/rbac.ts';

/** A rule of a Role, as in the RBAC API. */
export interface PolicyRule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
}

/** Whether a rule allows this, where it is bound: as Kubernetes' RBAC authorizer decides it. */
export function allows(rule: PolicyRule, { verb, group, resource, path, name = '' }: Access): boolean {
  const { verbs, apiGroups, resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if (!has(verbs, verb)) return false;
  if (path !== undefined) return nonResourceURLs.some((url) => isBelow(path, url));
  const [, subresource] = resource!.split('/');
  return (
    has(apiGroups, group!) &&
    (has(resources, resource!) || (subresource !== undefined && resources.includes(`*/${subresource}`))) &&
    (resourceNames.length === 0 || resourceNames.includes(name))
  );
}

const has = (list: string[] = [], one: string): boolean => list.includes(one) || list.includes('*');

function isBelow(path: string, url: string): boolean {
  return url.endsWith('*') ? path.startsWith(url.replace(/\*+$/, '')) : path === url;
}

/** More permissions than any role needs one by one. */
const MOST = 10_000;

/**
 * Each permission of the rules on its own: `create pods/exec`, `get secrets.example.com named "x"`, `get /metrics`. Roles with the same
 * permissions can have different rules. Undefined if there are too many to compare.
 */
export function permissionsOf(rules: PolicyRule[] | null | undefined): Set<string> | undefined {
  const all = rules ?? [];
  const count = all.reduce((sum, rule) => sum + countOf(rule), 0);
  if (count > MOST) return undefined;
  return new Set(
    all.flatMap((rule) => rule.verbs.flatMap((verb) => targetsOf(rule).map((what) => `${verb} ${what}`))),
  );
}

function countOf({ apiGroups, resources, resourceNames, nonResourceURLs, verbs }: PolicyRule): number {
  const of = (list: string[] = []): number => list.length;
  return of(verbs) * (of(nonResourceURLs) + of(apiGroups) * of(resources) * (of(resourceNames) || 1));
}

function targetsOf({
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): string[] {
  const named =
    resourceNames.length === 0 ? [''] : resourceNames.map((name) => ` named ${JSON.stringify(name)}`);
  const full = apiGroups.flatMap((group) =>
    resources.map((resource) => (group === '' ? resource : `${resource}.${group}`)),
  );
  return [...nonResourceURLs, ...full.flatMap((resource) => named.map((name) => `${resource}${name}`))];
}
