import type { Finding } from './check.ts';
import type { Owner } from './owner-signs.ts';

/** The parts of an Application, Kustomization or HelmRelease that decide whether it overwrites changes. */
export interface Policy {
  metadata: { name: string; namespace?: string };
  spec?: {
    suspend?: boolean;
    driftDetection?: { mode?: string };
    syncPolicy?: { automated?: { enabled?: boolean; selfHeal?: boolean } | null };
  };
}

/** Whether an owner will overwrite devloop's changes, and what pauses it. `policy` is undefined if it could not be read. */
export function ownerFinding(owner: Owner, objects: string[], policy: Policy | undefined): Finding {
  const who = `${owner.kind}${owner.name ? ` ${nameOf(owner)}` : ''}`;
  const { fights, because, pause } = judge(owner, policy);
  const proof = [`${objects.join(', ')}: ${owner.sign}`, ...(policy ? [because] : [])];
  if (fights === 'no')
    return {
      verdict: 'ok',
      answer: `${who} owns the objects, but leaves them alone while \`up\` runs: ${because}`,
      proof,
    };
  const answer =
    fights === 'yes'
      ? `${who} owns the objects and will overwrite changes while \`up\` runs: ${because}`
      : `${who} owns the objects and may overwrite changes while \`up\` runs: ${because}`;
  return { verdict: 'warn', answer, proof, hint: pause };
}

interface Judgement {
  fights: 'yes' | 'no' | 'maybe';
  because: string;
  pause: string;
}

function judge(owner: Owner, policy: Policy | undefined): Judgement {
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
        pause: `OLM cannot be paused for one operator; prevent upgrades: kubectl -n ${owner.namespace || '<namespace>'} patch subscription <name> --type merge -p '{"spec":{"installPlanApproval":"Manual"}}'`,
      };
  }
}

function argo({ name }: Owner, policy: Policy | undefined): Judgement {
  const application = policy?.metadata.name ?? (name || '<application>');
  const home = policy?.metadata.namespace ?? 'argocd';
  const pause = `kubectl -n ${home} patch application ${application} --type merge -p '{"spec":{"syncPolicy":{"automated":{"enabled":false}}}}' (an ApplicationSet reverts this; if there is one, pause it instead)`;
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
  const pause = `kubectl -n ${home} patch ${resource} ${owner.name || '<name>'} --type merge -p '{"spec":{"suspend":true}}'`;
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

function nameOf({ namespace, name, kind }: Owner): string {
  return namespace === '' || kind === 'Argo CD' ? name : `${namespace}/${name}`;
}
