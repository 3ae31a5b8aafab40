/** Will an owner write the object again while it is taken over, and what pauses it? Pure. */
import type { Finding } from './check.ts';
import type { Owner } from './owner-signs.ts';

/** The parts of an Application, Kustomization or HelmRelease that decide. */
export interface Policy {
  metadata: { name: string; namespace?: string };
  spec?: {
    suspend?: boolean;
    driftDetection?: { mode?: string };
    syncPolicy?: { automated?: { enabled?: boolean; selfHeal?: boolean } | null };
  };
}

/** `policy` is undefined where it may not be read, or was not found. */
export function ownerFinding(owner: Owner, objects: string[], policy: Policy | undefined): Finding {
  const who = `${owner.kind}${owner.name ? ` ${nameOf(owner)}` : ''}`;
  const { fights, because, pause } = judge(owner, policy);
  const proof = `${objects.join(', ')}: ${owner.sign}${policy ? `; ${because}` : ''}`;
  if (fights === 'no')
    return {
      verdict: 'ok',
      answer: `${who} owns the objects, and leaves them alone while up runs: ${because}`,
      proof,
    };
  const answer =
    fights === 'yes'
      ? `${who} owns the objects, and will write them again while up runs: ${because}`
      : `${who} owns the objects, and may write them again while up runs: ${because}`;
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
      return flux(owner, policy, 'kustomization', 'it writes what it manages at every interval');
    case 'Flux HelmRelease':
      return fluxHelm(owner, policy);
    case 'Helm':
      return {
        fights: 'no',
        because: 'Helm writes at the next upgrade only; do not run one meanwhile',
        pause: '',
      };
    case 'OLM':
      return {
        fights: 'maybe',
        because: 'OLM writes them at an install, an upgrade, and when it rotates the certificate',
        pause: `OLM cannot be paused for one operator; keep upgrades away: kubectl -n ${owner.namespace || '<namespace>'} patch subscription <name> --type merge -p '{"spec":{"installPlanApproval":"Manual"}}'`,
      };
  }
}

function argo({ name }: Owner, policy: Policy | undefined): Judgement {
  const application = policy?.metadata.name ?? (name || '<application>');
  const home = policy?.metadata.namespace ?? 'argocd';
  const pause = `kubectl -n ${home} patch application ${application} --type merge -p '{"spec":{"syncPolicy":{"automated":{"enabled":false}}}}' (an ApplicationSet puts it back: pause that one then)`;
  if (policy === undefined)
    return { fights: 'maybe', because: 'whether its Application heals itself could not be read', pause };
  const automated = policy.spec?.syncPolicy?.automated ?? undefined;
  if (automated === undefined || automated.enabled === false)
    return { fights: 'no', because: 'its Application does not sync by itself', pause };
  if (automated.selfHeal === true)
    return { fights: 'yes', because: 'its Application has selfHeal: true, which takes seconds', pause };
  return { fights: 'maybe', because: 'its Application syncs by itself at the next commit', pause };
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
  if (policy === undefined) return { ...judged, because: 'whether it corrects drift could not be read' };
  if (judged.fights === 'no' || mode === 'enabled') return judged;
  return {
    ...judged,
    fights: 'no',
    because: 'it does not correct drift; it writes at the next upgrade only',
  };
}

function nameOf({ namespace, name, kind }: Owner): string {
  return namespace === '' || kind === 'Argo CD' ? name : `${namespace}/${name}`;
}
