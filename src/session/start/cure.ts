import { delimiter } from 'node:path';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import { defaultKubeconfig } from '../../cluster/api/kubeconfig.ts';
import type { ServiceAccountName } from '../../cluster/api/service-account.ts';
import { type BoundRole, grantOf, grantsAll, type WantedRule } from '../../operator/manifests/granting.ts';
import { readKustomizations } from '../../operator/manifests/kustomizations.ts';
import { shellQuoted, shellWord } from '../../phrases.ts';
import type { RbacCure } from '../../report/rbac.ts';
import { Generating } from '../generated/generate.ts';

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
  /** The variables with which devloop was started. */
  env: Env;
}

type Env = Record<string, string | undefined>;

/** How the role of the controller gets a rule that it lacks. */
export async function cureFor(rule: WantedRule, place: Place): Promise<RbacCure> {
  const { root, isGo, roles, owner, namespace, api, env } = place;
  const allowing = roles.find((role) => grantsAll(grantOf(role, owner.namespace), rule, namespace));
  const isGenerated = isGo && roles.some(({ file }) => file.startsWith('config/'));
  const generating = await Generating.of(root);
  const command = api && (await patchCommand(rule, allowing ?? roles[0], root, { api, env }));
  return {
    yaml: yamlOf(rule),
    ...(isGenerated && { marker: markerOf(rule) }),
    ...(isGenerated && generating && { generate: generating.command }),
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
  { api, env }: { api: ClusterApi; env: Env },
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
    return `${kubectlFor(api, env)} patch clusterrole ${shellWord(name)} --type=json -p ${shellQuoted(patch)}`;
  }
  return undefined;
}

/** The command is often typed in another terminal, where KUBECONFIG is not set. */
function kubectlFor({ context, kubeconfigFiles: files }: ClusterApi, env: Env): string {
  const isDefault = files.length === 0 || files.join() === defaultKubeconfig(env);
  const one = isDefault || files.length > 1 ? '' : ` --kubeconfig ${shellWord(files[0]!)}`;
  const several = isDefault || files.length === 1 ? '' : `KUBECONFIG=${shellWord(files.join(delimiter))} `;
  return `${several}kubectl${one} --context ${shellWord(context)}`;
}
