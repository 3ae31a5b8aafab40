/** The tools that deploy operators: what shows that an object belongs to one, and whether it overwrites what devloop changes. */

import type { ClusterApi } from '../cluster/api/client.ts';
import type { KubeObject, Metadata } from '../cluster/api/objects.ts';
import { DevloopError } from '../errors.ts';
import { shellWord } from '../phrases.ts';

export type OwnerKind = 'Argo CD' | 'Flux Kustomization' | 'Flux HelmRelease' | 'Helm' | 'OLM';

export interface Owner {
  kind: OwnerKind;
  /** The name of the Application, Kustomization, HelmRelease, release or ClusterServiceVersion; empty if unknown. */
  name: string;
  namespace: string;
  /** The label, annotation or field that reveals the owner, for display. */
  sign: string;
}

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

/** A tool. Its signs are in order of precedence. */
interface Tool {
  /** By what names managedFields knows it. */
  writers: string[];
  signs: ((metadata: Metadata) => Omit<Owner, 'kind'> | undefined)[];
  /** Reads the policy; absent if the tool has none. Fails if it is not allowed to be read, or is gone. */
  read?: (api: ClusterApi, owner: Owner) => Promise<Policy | undefined>;
  judge: (owner: Owner, policy: Policy | undefined) => Judgement;
}

/** In order of display. */
const TOOLS: Record<OwnerKind, Tool> = {
  'Argo CD': {
    writers: ['argocd-controller', 'argocd-application-controller'],
    signs: [
      marked('annotations', 'argocd.argoproj.io/tracking-id', { name: (id) => id.split(':')[0]! }),
      marked('labels', 'argocd.argoproj.io/instance'),
    ],
    read: argoApplication,
    judge: argo,
  },
  'Flux Kustomization': {
    writers: ['kustomize-controller'],
    signs: [fluxLabel('kustomize')],
    read: at('/apis/kustomize.toolkit.fluxcd.io/v1', 'kustomizations'),
    judge: (owner, policy) => flux(owner, policy, 'kustomization', 'it writes its objects at every interval'),
  },
  'Flux HelmRelease': {
    writers: ['helm-controller'],
    signs: [fluxLabel('helm')],
    read: at('/apis/helm.toolkit.fluxcd.io/v2', 'helmreleases'),
    judge: fluxHelm,
  },
  OLM: {
    writers: ['olm', 'olm.install'],
    signs: [
      ({ ownerReferences = [], namespace = '' }) => {
        const owner = ownerReferences.find(({ kind }) => kind === 'ClusterServiceVersion');
        const sign = `owned by ClusterServiceVersion ${owner?.name}`;
        return owner && { name: owner.name, namespace, sign };
      },
      marked('labels', 'olm.owner', { home: homeIn('labels', 'olm.owner.namespace') }),
      marked('labels', 'olm.managed', { is: 'true', name: () => '', home: ownNamespace }),
    ],
    judge: ({ namespace }) => ({
      fights: 'maybe',
      because: 'OLM writes them on installation, on upgrade, and when it rotates the certificate',
      pause: `OLM cannot be paused for one operator; prevent upgrades: kubectl -n ${shellWord(namespace || '<namespace>')} patch subscription <name> --type merge -p '{"spec":{"installPlanApproval":"Manual"}}'`,
    }),
  },
  Helm: {
    writers: ['helm'],
    signs: [
      marked('annotations', 'meta.helm.sh/release-name', {
        home: homeIn('annotations', 'meta.helm.sh/release-namespace'),
      }),
      marked('labels', 'app.kubernetes.io/managed-by', { is: 'Helm', name: () => '', home: ownNamespace }),
    ],
    judge: () => ({
      fights: 'no',
      because: 'Helm writes only at the next upgrade, so do not upgrade while `up` runs',
      pause: '',
    }),
  },
};

/** How the names of other programs begin with which a person or a pipeline deploys; they leave no sign, and write only when they run. */
const CLIENTS = ['kubectl', 'kapp', 'fleet'];

/** The tool that writes under this name in managedFields. */
export function ownerKindOf(writer: string): OwnerKind | undefined {
  return (Object.keys(TOOLS) as OwnerKind[]).find((kind) => TOOLS[kind].writers.includes(writer));
}

/** Whether this is the name of a tool that deploys operators. Pausing one would stop all its deployments. */
export function deploys(writer: string): boolean {
  return ownerKindOf(writer) !== undefined || CLIENTS.some((client) => writer.startsWith(client));
}

/** The owners, at most one of each kind. An owner found in labels or annotations takes precedence over one that only wrote fields. */
export function ownersOf({ metadata }: KubeObject): Owner[] {
  const found = new Map<OwnerKind, Owner>();
  for (const [kind, { signs }] of Object.entries(TOOLS) as [OwnerKind, Tool][]) {
    const [first] = signs.flatMap((sign) => sign(metadata) ?? []);
    if (first) found.set(kind, { kind, ...first });
  }
  for (const { manager } of metadata.managedFields ?? []) {
    const kind = ownerKindOf(manager);
    if (kind !== undefined && !found.has(kind))
      found.set(kind, { kind, name: '', namespace: '', sign: `fields written by ${manager}` });
  }
  // Objects that helm-controller installs have Helm's own annotations, too.
  if (found.has('Flux HelmRelease')) found.delete('Helm');
  return [...found.values()];
}

export function judgeOwner(owner: Owner, policy: Policy | undefined): Judgement {
  return TOOLS[owner.kind].judge(owner, policy);
}

/** Reads an owner's policy; undefined if it cannot be read, for example because access is forbidden or the object is gone. */
export async function readPolicy(api: ClusterApi, owner: Owner): Promise<Policy | undefined> {
  try {
    return await TOOLS[owner.kind].read?.(api, owner);
  } catch (error) {
    if (error instanceof DevloopError) return undefined;
    throw error;
  }
}

type Place = 'labels' | 'annotations';
type Home = (metadata: Metadata) => string;

/** A label or annotation that has the owner's name as its value, or the value `is`. */
function marked(
  place: Place,
  key: string,
  {
    is,
    name = (value) => value,
    home = () => '',
  }: { is?: string; name?: (value: string) => string; home?: Home } = {},
): Tool['signs'][number] {
  return (metadata) => {
    const value = metadata[place]?.[key];
    if (value === undefined || (is !== undefined && value !== is)) return undefined;
    const sign = `${place.slice(0, -1)} ${key}: ${value}`;
    return { name: name(value), namespace: home(metadata), sign };
  };
}

function fluxLabel(part: string): Tool['signs'][number] {
  const home: Home = ({ labels }) => labels?.[`${part}.toolkit.fluxcd.io/namespace`] ?? '';
  return marked('labels', `${part}.toolkit.fluxcd.io/name`, { home });
}

function homeIn(place: Place, key: string): Home {
  return (metadata) => metadata[place]?.[key] ?? ownNamespace(metadata);
}

function ownNamespace({ namespace = '' }: Metadata): string {
  return namespace;
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

/** The tracking id of an Application outside Argo CD's own namespace is `namespace_name`. */
async function argoApplication(api: ClusterApi, { name: tracked }: Owner): Promise<Policy | undefined> {
  if (tracked === '') return undefined;
  const { items } = await api.call<{ items: Policy[] }>('GET', '/apis/argoproj.io/v1alpha1/applications');
  return items.find(
    ({ metadata }) => metadata.name === tracked || `${metadata.namespace}_${metadata.name}` === tracked,
  );
}

/** Reads a policy at its namespace and name, as far as they are known. */
function at(root: string, plural: string): NonNullable<Tool['read']> {
  return async (api, { namespace, name }) =>
    name === '' || namespace === ''
      ? undefined
      : await api.call<Policy>('GET', `${root}/namespaces/${namespace}/${plural}/${name}`);
}
