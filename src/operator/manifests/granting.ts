import { manifestFiles } from '../../checkout/files.ts';
import { type Manifest, readManifests } from './read.ts';
import type { PolicyRule } from './rules.ts';

/** Permissions on one resource, as a rule of a Role names them: `deployments/status`. */
export interface WantedRule {
  group: string;
  resource: string;
  verbs: string[];
}

/** What a checkout says about permissions of its controller. */
export interface Granting {
  /** The roles that it binds to a ServiceAccount, the one with the most rules first: others are for leader election and metrics. */
  roles: Manifest[];
  /** The first of them that allows all that is wanted. */
  allowing?: Manifest;
}

const BINDS = /^[ \t]*kind:[ \t]*["']?(?:Cluster)?RoleBinding["']?[ \t]*\r?$/m;
const TEMPLATE = /\{\{/;

/** Roles that are bound to nobody are for people, so they allow the controller nothing. Templates of charts are not read. */
export async function grantingRoles(root: string, wanted: WantedRule): Promise<Granting> {
  const [{ manifests }, bound] = await Promise.all([readManifests(root), boundRoles(root)]);
  const roles = manifests
    .filter(({ kind, object }) => bound.has(`${kind} ${object.metadata.name}`))
    .sort((a, b) => rulesOf(b).length - rulesOf(a).length);
  const allowing = roles.find((role) => allowsAll(rulesOf(role), wanted));
  return { roles, ...(allowing && { allowing }) };
}

function rulesOf({ object }: Manifest): PolicyRule[] {
  return object.rules ?? [];
}

export function allowsAll(rules: PolicyRule[], { group, resource, verbs }: WantedRule): boolean {
  const has = (list: string[] = [], one: string): boolean => list.includes(one) || list.includes('*');
  const [, subresource] = resource.split('/');
  const fits = ({ apiGroups, resources = [], resourceNames = [] }: PolicyRule): boolean =>
    resourceNames.length === 0 &&
    has(apiGroups, group) &&
    (has(resources, resource) || (subresource !== undefined && resources.includes(`*/${subresource}`)));
  return verbs.every((verb) => rules.some((rule) => fits(rule) && has(rule.verbs, verb)));
}

/** `ClusterRole manager-role`, for each role that a binding of the checkout gives to a ServiceAccount. */
async function boundRoles(root: string): Promise<Set<string>> {
  const { parseAllDocuments } = await import('yaml');
  const files = (await manifestFiles(root, BINDS)).filter(({ text }) => !TEMPLATE.test(text));
  const objects = files.flatMap(({ text }) =>
    parseAllDocuments(text).flatMap((one) => (one.errors.length > 0 ? [] : [one.toJS() as Binding | null])),
  );
  const ofAccounts = objects.filter(
    (one) => isList(one?.subjects) && one.subjects.some((subject) => subject?.kind === 'ServiceAccount'),
  );
  return new Set(ofAccounts.map((one) => `${one?.roleRef?.kind} ${one?.roleRef?.name}`));
}

interface Binding {
  subjects?: ({ kind?: unknown } | null)[];
  roleRef?: { kind?: unknown; name?: unknown };
}

function isList<T>(value: T[] | undefined): value is T[] {
  return Array.isArray(value);
}
