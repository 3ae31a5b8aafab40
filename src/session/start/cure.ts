import type { ClusterApi } from '../../cluster/api/client.ts';
import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import type { ServiceAccountName } from '../../cluster/api/service-account.ts';
import { type BoundRole, grantOf, grantsAll, type WantedRule } from '../../operator/manifests/granting.ts';
import { readKustomizations } from '../../operator/manifests/kustomizations.ts';
import { shellQuoted, shellWord } from '../../phrases.ts';
import type { RbacCure } from '../../report/rbac.ts';

/** Where the rule is needed, and what the checkout has. */
export interface Place {
  root: string;
  isGo: boolean;
  roles: BoundRole[];
  owner: Pick<ServiceAccountName, 'namespace'>;
  /** Absent for the whole cluster, and for what has no namespace. */
  namespace: string | undefined;
  /** Absent if the cluster is not to be asked. */
  api?: ClusterApi;
}

/** How the role of the controller gets a rule that it lacks. */
export async function cureFor(rule: WantedRule, place: Place): Promise<RbacCure> {
  const { root, isGo, roles, owner, namespace, api } = place;
  const allowing = roles.find((role) => grantsAll(grantOf(role, owner.namespace), rule, namespace));
  const isGenerated = isGo && roles.some(({ file }) => file.startsWith('config/'));
  const command = api && (await patchCommand(rule, allowing ?? roles[0], root, api));
  return {
    yaml: yamlOf(rule),
    ...(isGenerated && { marker: markerOf(rule) }),
    ...(allowing && { file: allowing.file }),
    ...(command !== undefined && { command }),
  };
}

function markerOf({ group, resource, path, verbs }: WantedRule): string {
  const what = path === undefined ? `groups=${group || '""'},resources=${resource}` : `urls=${path}`;
  return `// +kubebuilder:rbac:${what},verbs=${verbs.join(';')}`;
}

function yamlOf({ group, resource, path, verbs }: WantedRule): string {
  const what =
    path === undefined
      ? `apiGroups: [${group || '""'}], resources: [${resource}]`
      : `nonResourceURLs: [${path}]`;
  return `- {${what}, verbs: [${verbs.join(', ')}]}`;
}

/** Adds the rule to the role, under the name that kustomize has given to it. Only for a ClusterRole: where else a Role is, is not known. */
async function patchCommand(
  { group, resource, path, verbs }: WantedRule,
  role: BoundRole | undefined,
  root: string,
  api: ClusterApi,
): Promise<string | undefined> {
  if (role?.kind !== 'ClusterRole') return undefined;
  const { prefixes } = await readKustomizations(root);
  const what =
    path === undefined ? { apiGroups: [group], resources: [resource] } : { nonResourceURLs: [path] };
  const patch = JSON.stringify([{ op: 'add', path: '/rules/-', value: { ...what, verbs } }]);
  for (const prefix of prefixes) {
    const name = `${prefix}${role.object.metadata.name}`;
    const found = await api.get({ kind: 'ClusterRole', name }).catch(undefinedIfForbidden);
    if (found === undefined) continue;
    const context = `kubectl --context ${shellWord(api.context)}`;
    return `${context} patch clusterrole ${shellWord(name)} --type=json -p ${shellQuoted(patch)}`;
  }
  return undefined;
}
