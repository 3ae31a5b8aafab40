import type { ClusterApi } from '../cluster/api/client.ts';
import { DevloopError } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import type { Owner } from './owners.ts';

/** The parts of an Application, Kustomization or HelmRelease that decide whether it overwrites changes. */
export interface Policy {
  metadata: { name: string; namespace?: string };
  spec?: {
    suspend?: boolean;
    driftDetection?: { mode?: string };
    syncPolicy?: { automated?: { enabled?: boolean; selfHeal?: boolean } | null };
  };
}

/** Whether an owner overwrites changes, and the command that pauses it; empty if none is needed. */
export interface Judgement {
  fights: 'yes' | 'no' | 'maybe';
  because: string;
  pause: string;
}

export function judgeOwner(owner: Owner, policy: Policy | undefined): Judgement {
  switch (owner.kind) {
    case 'Argo CD':
      return argo(owner, policy);
    case 'Flux Kustomization':
      return flux(owner, policy, 'kustomization', 'it writes its objects at every interval');
    case 'Flux HelmRelease':
      return fluxHelm(owner, policy);
    case 'Helm':
      return {
        fights: 'no',
        because: 'Helm writes only at the next upgrade, so do not upgrade while `up` runs',
        pause: '',
      };
    case 'OLM':
      return {
        fights: 'maybe',
        because: 'OLM writes them on installation, on upgrade, and when it rotates the certificate',
        pause: `OLM cannot be paused for one operator; prevent upgrades: kubectl -n ${shellWord(owner.namespace || '<namespace>')} patch subscription <name> --type merge -p '{"spec":{"installPlanApproval":"Manual"}}'`,
      };
  }
}

function argo({ name }: Owner, policy: Policy | undefined): Judgement {
  const application = policy?.metadata.name ?? (name || '<application>');
  const home = policy?.metadata.namespace ?? 'argocd';
  const pause = `kubectl -n ${shellWord(home)} patch application ${shellWord(application)} --type merge -p '{"spec":{"syncPolicy":{"automated":{"enabled":false}}}}' (an ApplicationSet reverts this; if there is one, pause it instead)`;
  if (policy === undefined)
    return { fights: 'maybe', because: 'its Application could not be read, so selfHeal is unknown', pause };
  const automated = policy.spec?.syncPolicy?.automated ?? undefined;
  if (automated === undefined || automated.enabled === false)
    return { fights: 'no', because: 'its Application does not sync automatically', pause };
  if (automated.selfHeal === true)
    return { fights: 'yes', because: 'its Application has selfHeal: true, which acts within seconds', pause };
  return { fights: 'maybe', because: 'its Application syncs automatically at the next commit', pause };
}

function flux(owner: Owner, policy: Policy | undefined, resource: string, why: string): Judgement {
  const home = owner.namespace || 'flux-system';
  const pause = `kubectl -n ${shellWord(home)} patch ${resource} ${shellWord(owner.name || '<name>')} --type merge -p '{"spec":{"suspend":true}}'`;
  if (policy?.spec?.suspend === true) return { fights: 'no', because: 'it is suspended', pause };
  return { fights: policy === undefined ? 'maybe' : 'yes', because: why, pause };
}

function fluxHelm(owner: Owner, policy: Policy | undefined): Judgement {
  const mode = policy?.spec?.driftDetection?.mode;
  const judged = flux(owner, policy, 'helmrelease', 'it corrects drift (driftDetection: enabled)');
  if (policy === undefined)
    return { ...judged, because: 'it could not be read, so drift correction is unknown' };
  if (judged.fights === 'no' || mode === 'enabled') return judged;
  return {
    ...judged,
    fights: 'no',
    because: 'it does not correct drift and writes only at the next upgrade',
  };
}

/** Reads an owner's policy; undefined if it cannot be read, for example because access is forbidden or the object is gone. */
export async function readPolicy(api: ClusterApi, owner: Owner): Promise<Policy | undefined> {
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
