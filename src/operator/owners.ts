import type { KubeObject } from '../cluster/api/objects.ts';

export type OwnerKind = 'Argo CD' | 'Flux Kustomization' | 'Flux HelmRelease' | 'Helm' | 'OLM';

export interface Owner {
  kind: OwnerKind;
  /** The name of the Application, Kustomization, HelmRelease, release or ClusterServiceVersion; empty if unknown. */
  name: string;
  namespace: string;
  /** The label, annotation or field that reveals the owner, for display. */
  sign: string;
}

const MANAGERS: [RegExp, OwnerKind][] = [
  [/^argocd-(?:application-)?controller$/, 'Argo CD'],
  [/^kustomize-controller$/, 'Flux Kustomization'],
  [/^helm-controller$/, 'Flux HelmRelease'],
  [/^helm$/, 'Helm'],
  [/^olm(?:\.install)?$/, 'OLM'],
];

/** The tool that writes under this name in managedFields. */
export function ownerKindOf(manager: string): OwnerKind | undefined {
  return MANAGERS.find(([pattern]) => pattern.test(manager))?.[1];
}

/** The owners, at most one of each kind. An owner found in labels or annotations takes precedence over one that only wrote fields. */
export function ownersOf({ metadata }: KubeObject): Owner[] {
  const { labels = {}, annotations = {}, managedFields = [], namespace = '' } = metadata;
  const found: Owner[] = [];
  const add = (kind: OwnerKind, name: string, home: string, sign: string): void => {
    if (!found.some((one) => one.kind === kind)) found.push({ kind, name, namespace: home, sign });
  };
  const tracking = annotations['argocd.argoproj.io/tracking-id'];
  if (tracking !== undefined)
    add('Argo CD', tracking.split(':')[0]!, '', `annotation argocd.argoproj.io/tracking-id: ${tracking}`);
  const instance = labels['argocd.argoproj.io/instance'];
  if (instance !== undefined) add('Argo CD', instance, '', `label argocd.argoproj.io/instance: ${instance}`);
  for (const [part, kind] of [
    ['kustomize', 'Flux Kustomization'],
    ['helm', 'Flux HelmRelease'],
  ] as const) {
    const name = labels[`${part}.toolkit.fluxcd.io/name`];
    const home = labels[`${part}.toolkit.fluxcd.io/namespace`] ?? '';
    if (name !== undefined) add(kind, name, home, `label ${part}.toolkit.fluxcd.io/name: ${name}`);
  }
  addOlm(metadata, add);
  const release = annotations['meta.helm.sh/release-name'];
  const releasedTo = annotations['meta.helm.sh/release-namespace'] ?? namespace;
  if (release !== undefined)
    add('Helm', release, releasedTo, `annotation meta.helm.sh/release-name: ${release}`);
  else if (labels['app.kubernetes.io/managed-by'] === 'Helm')
    add('Helm', '', namespace, 'label app.kubernetes.io/managed-by: Helm');
  for (const { manager } of managedFields) {
    const kind = ownerKindOf(manager);
    if (kind !== undefined) add(kind, '', '', `fields written by ${manager}`);
  }
  // Objects that helm-controller installs have Helm's own annotations, too.
  return found.some(({ kind }) => kind === 'Flux HelmRelease')
    ? found.filter((one) => one.kind !== 'Helm')
    : found;
}

function addOlm(
  { labels = {}, ownerReferences = [], namespace = '' }: KubeObject['metadata'],
  add: (kind: OwnerKind, name: string, home: string, sign: string) => void,
): void {
  const owner = ownerReferences.find(({ kind }) => kind === 'ClusterServiceVersion');
  if (owner) add('OLM', owner.name, namespace, `owned by ClusterServiceVersion ${owner.name}`);
  const named = labels['olm.owner'];
  if (named !== undefined)
    add('OLM', named, labels['olm.owner.namespace'] ?? namespace, `label olm.owner: ${named}`);
  if (labels['olm.managed'] === 'true') add('OLM', '', namespace, 'label olm.managed: true');
}
