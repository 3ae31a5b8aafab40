import { isDeepStrictEqual } from 'node:util';
import {
  type BroadRule,
  CALLED_VERBS,
  inOrder,
  type Need,
  type RbacTarget,
  type RoleName,
  type SeenAccess,
  type UnseenRule,
} from '../../report/rbac.ts';
import { type Grant, grants } from '../manifests/granting.ts';
import type { PolicyRule } from '../manifests/rules.ts';

/** More than any role says one by one; what follows is not judged. */
const MOST = 5_000;
const MOST_SEEN = 10;
/** More objects than this are not worth naming in a rule. */
const MOST_NAMES = 3;
const ONLY_OF_OBJECTS = ['get', 'update', 'patch', 'delete'];
/** An admission plugin asks for it when an owner is set, and no call does. */
const ASKED_WITHIN = /\/finalizers$/;

/** Permissions of these roles that no call used, those with the same verbs together. What no call can show is left out. */
export function unseenRules(needs: Need[], roles: Grant[]): UnseenRule[] {
  const found = new Map<string, { unseen: Unseen; roles: RoleName[] }>();
  for (const grant of roles)
    for (const unseen of unseenOf(needs, grant)) {
      const key = JSON.stringify(unseen);
      found.set(key, { unseen, roles: withRole(found.get(key)?.roles, grant.role) });
    }
  const rules = new Map<string, UnseenRule>();
  for (const { unseen, roles: of } of found.values()) {
    const { verbs, target, name } = unseen;
    const names = name === undefined ? {} : { names: [name] };
    const key = JSON.stringify([verbs, name, of]);
    const targets = [...(rules.get(key)?.targets ?? []), target];
    rules.set(key, { verbs, targets, ...names, roles: of });
  }
  return [...rules.values()];
}

interface Unseen {
  verbs: string[];
  target: RbacTarget;
  name?: string;
}

function unseenOf(needs: Need[], grant: Grant): Unseen[] {
  const found = new Map<string, Unseen>();
  const byVerb = Map.groupBy(needs, ({ verb }) => verb);
  const judged = grant.rules.filter((rule) => !allowsAll(rule));
  for (const { target, verb, name, rule } of singles(judged).slice(0, MOST)) {
    const asked = verb === '*' ? needs : (byVerb.get(verb) ?? []);
    if (usedBy(asked, { ...grant, rules: [rule] }).length > 0) continue;
    const key = JSON.stringify([target, name]);
    const verbs = inOrder([...(found.get(key)?.verbs ?? []), verb]);
    found.set(key, { verbs, target, ...(name === undefined ? {} : { name }) });
  }
  return [...found.values()];
}

/** What allows everything in a group is broad, even if nothing of it was used. */
function allowsAll({ resources = [], verbs }: PolicyRule): boolean {
  return resources.includes('*') && verbs.includes('*');
}

/** Rules that allow more than the calls needed. */
export function broadRules(needs: Need[], roles: Grant[]): BroadRule[] {
  const found = new Map<string, BroadRule>();
  for (const grant of roles)
    for (const rule of grant.rules)
      for (const broad of broadParts(needs, grant, rule)) {
        const key = JSON.stringify(broad);
        found.set(key, { ...broad, roles: withRole(found.get(key)?.roles, grant.role) });
      }
  return [...found.values()];
}

function broadParts(needs: Need[], grant: Grant, rule: PolicyRule): Omit<BroadRule, 'roles'>[] {
  const { apiGroups = [], resources = [], verbs, resourceNames = [] } = rule;
  if (resources.length === 0) return [];
  const used = usedBy(needs, { ...grant, rules: [rule] });
  const isWild = [apiGroups, resources, verbs].some((all) => all.some((one) => one.startsWith('*')));
  if (isWild) {
    const seen = seenOf(used);
    if (seen.length === 0 && !allowsAll(rule)) return [];
    const more = seen.length > MOST_SEEN ? { moreSeen: seen.length - MOST_SEEN } : {};
    return [
      { what: 'wildcard', rule: { apiGroups, resources, verbs }, seen: seen.slice(0, MOST_SEEN), ...more },
    ];
  }
  if (resourceNames.length > 0) return [];
  return seenOf(used).flatMap(({ group, resource, verbs: seen }) => {
    const names = fewNames(needs, { group, resource });
    const one = { apiGroups: [group!], resources: [resource!], verbs };
    return names === undefined
      ? []
      : [{ what: 'names' as const, rule: one, seen: [{ group, resource, verbs: seen }], names }];
  });
}

/** The objects, if few were used, and nothing was created or listed: rules cannot restrict that by name. */
function fewNames(needs: Need[], { group, resource }: RbacTarget): string[] | undefined {
  if (resource!.includes('/')) return undefined;
  const of = needs.filter((one) => one.group === group && one.resource === resource);
  const names = [...new Set(of.flatMap((one) => one.names))];
  const isByName = of.every(({ verb, moreNames }) => ONLY_OF_OBJECTS.includes(verb) && !moreNames);
  return isByName && names.length <= MOST_NAMES && !names.includes('') ? names : undefined;
}

function seenOf(used: Need[]): SeenAccess[] {
  const found = new Map<string, SeenAccess>();
  for (const { group, resource, verb } of used) {
    const key = JSON.stringify([group, resource]);
    const verbs = inOrder([...(found.get(key)?.verbs ?? []), verb]);
    found.set(key, { group: group!, resource: resource!, verbs });
  }
  return [...found.values()];
}

/** The needs that these rules allow, also those that others allow as well. */
function usedBy(needs: Need[], grant: Grant): Need[] {
  return needs.filter((need) => {
    const { names, moreNames, calls, refused, mayCreate, ...access } = need;
    // Of names that were not kept, any can have been used.
    const all = moreNames ? [...names, ...grant.rules.flatMap((rule) => rule.resourceNames ?? [])] : names;
    return all.some((name) => grants(grant, { ...access, name }));
  });
}

interface Single {
  target: RbacTarget;
  verb: string;
  name?: string;
  rule: PolicyRule;
}

/** Each permission on its own. */
function singles(rules: PolicyRule[]): Single[] {
  return rules.flatMap(
    ({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }) => {
      const called = verbs.filter((verb) => verb === '*' || CALLED_VERBS.includes(verb));
      const ofPaths = nonResourceURLs.map((path) => ({
        target: { path },
        rule: { nonResourceURLs: [path] },
        name: undefined,
      }));
      const names = resourceNames.length === 0 ? [undefined] : resourceNames;
      const ofResources = apiGroups.flatMap((group) =>
        resources
          .filter((resource) => !ASKED_WITHIN.test(resource))
          .flatMap((resource) =>
            names.map((name) => ({
              target: { group, resource },
              rule: {
                apiGroups: [group],
                resources: [resource],
                resourceNames: name === undefined ? [] : [name],
              },
              name,
            })),
          ),
      );
      return [...ofPaths, ...ofResources].flatMap(({ target, rule, name }) =>
        called.map((verb) => ({
          ...{ target, verb, rule: { ...rule, verbs: [verb] } },
          ...(name === undefined ? {} : { name }),
        })),
      );
    },
  );
}

function withRole(known: RoleName[] = [], role: RoleName): RoleName[] {
  return known.some((one) => isDeepStrictEqual(one, role)) ? known : [...known, role];
}
