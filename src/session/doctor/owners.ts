import type { ClusterApi } from '../../cluster/api/client.ts';
import { describe, refOf } from '../../cluster/api/kinds.ts';
import { DevloopError } from '../../errors.ts';
import type { Target } from '../../operator/target.ts';
import { type Check, type Finding, needed } from './check.ts';
import { ownerFinding, type Policy } from './owner-policy.ts';
import { type Owner, ownersOf } from './owner-signs.ts';

/** Who else writes the Services and the manager's Deployment, and would they overwrite devloop's changes? */
export const ownersCheck: Check = {
  name: 'owners',
  limitSeconds: 30,
  optional: true,
  async run({ context, operator }) {
    const { target } = await needed(operator, 'there is no target');
    const { api } = await context;
    const owned = groupByOwner(target);
    if (owned.length === 0) return noOwner(target);
    return await Promise.all(
      owned.map(async ({ owner, objects }) => ownerFinding(owner, objects, await policyOf(api, owner))),
    );
  },
};

interface Owned {
  owner: Owner;
  objects: string[];
}

/** One entry per owner, with the objects that name it. */
export function groupByOwner({ services, manager }: Target): Owned[] {
  const all = [
    ...services.map(({ service }) => ({ ref: refOf('Service', service.metadata), object: service })),
    ...(manager ? [manager] : []),
  ];
  const groups = new Map<string, Owned>();
  for (const { ref, object } of all) {
    for (const owner of ownersOf(object)) {
      const key = `${owner.kind} ${owner.name}`;
      const group = groups.get(key) ?? { owner, objects: [] };
      group.objects.push(describe(ref));
      groups.set(key, group);
    }
  }
  return [...groups.values()];
}

function noOwner({ services, manager }: Target): Finding {
  const objects = [...services.map((one) => one.service), ...(manager ? [manager.object] : [])];
  const managers = objects.flatMap(({ metadata }) => metadata.managedFields ?? []).map((one) => one.manager);
  return {
    verdict: 'ok',
    answer: 'neither Argo CD, Flux, Helm nor OLM owns what `up` changes',
    proof: [
      'looked at labels, annotations and owner references',
      `fields written by ${[...new Set(managers)].join(', ') || 'nobody'}`,
    ],
  };
}

async function policyOf(api: ClusterApi, owner: Owner): Promise<Policy | undefined> {
  try {
    switch (owner.kind) {
      case 'Argo CD':
        return await argoApplication(api, owner.name);
      case 'Flux Kustomization':
        return await read(api, owner, '/apis/kustomize.toolkit.fluxcd.io/v1', 'kustomizations');
      case 'Flux HelmRelease':
        return await read(api, owner, '/apis/helm.toolkit.fluxcd.io/v2', 'helmreleases');
      default:
        return undefined;
    }
  } catch (error) {
    // Forbidden, not installed or gone: the policy is unknown.
    if (error instanceof DevloopError) return undefined;
    throw error;
  }
}

/** The tracking id of an Application outside Argo CD's own namespace is `namespace_name`. */
async function argoApplication(api: ClusterApi, tracked: string): Promise<Policy | undefined> {
  if (tracked === '') return undefined;
  const { items } = await api.call<{ items: Policy[] }>('GET', '/apis/argoproj.io/v1alpha1/applications');
  return items.find(
    ({ metadata }) => metadata.name === tracked || `${metadata.namespace}_${metadata.name}` === tracked,
  );
}

async function read(
  api: ClusterApi,
  owner: Owner,
  root: string,
  plural: string,
): Promise<Policy | undefined> {
  if (owner.name === '' || owner.namespace === '') return undefined;
  return await api.call<Policy>('GET', `${root}/namespaces/${owner.namespace}/${plural}/${owner.name}`);
}
