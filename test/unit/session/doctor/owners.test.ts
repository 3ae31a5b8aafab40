import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { refOf } from '../../../../src/cluster/api/kinds.ts';
import type { Metadata, Service } from '../../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../../src/cluster/api/workloads.ts';
import {
  judgeOwner,
  type Owner,
  type OwnerKind,
  ownersOf,
  type Policy,
} from '../../../../src/operator/owners.ts';
import { groupByOwner, ownerFinding } from '../../../../src/session/doctor/owners.ts';

const of = (metadata: Partial<Metadata>) =>
  ownersOf({ metadata: { name: 'hook', namespace: 'shop', ...metadata } }).map(
    ({ kind, name, namespace }) => `${kind} ${namespace}/${name}`,
  );

describe('who owns an object is seen', () => {
  it.each<[string, Partial<Metadata>, string[]]>([
    ['nothing', { labels: { 'app.kubernetes.io/managed-by': 'kustomize' } }, []],
    [
      'an annotation of Argo CD',
      { annotations: { 'argocd.argoproj.io/tracking-id': 'a:/Service:shop/hook' } },
      ['Argo CD /a'],
    ],
    ['a label of Argo CD', { labels: { 'argocd.argoproj.io/instance': 'a' } }, ['Argo CD /a']],
    [
      'labels of kustomize-controller',
      {
        labels: { 'kustomize.toolkit.fluxcd.io/name': 'a', 'kustomize.toolkit.fluxcd.io/namespace': 'flux' },
      },
      ['Flux Kustomization flux/a'],
    ],
    [
      'labels of helm-controller, not as Helm once more',
      {
        labels: {
          'helm.toolkit.fluxcd.io/name': 'a',
          'helm.toolkit.fluxcd.io/namespace': 'flux',
          'app.kubernetes.io/managed-by': 'Helm',
        },
        annotations: { 'meta.helm.sh/release-name': 'a' },
      },
      ['Flux HelmRelease flux/a'],
    ],
    ['an annotation of Helm', { annotations: { 'meta.helm.sh/release-name': 'a' } }, ['Helm shop/a']],
    ['a label of Helm', { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }, ['Helm shop/']],
    ['labels of OLM', { labels: { 'olm.managed': 'true', 'olm.owner': 'a.v1' } }, ['OLM shop/a.v1']],
    [
      'an owner of OLM',
      { ownerReferences: [{ kind: 'ClusterServiceVersion', name: 'a.v1', uid: '1' }] },
      ['OLM shop/a.v1'],
    ],
    [
      'who wrote fields',
      { managedFields: [{ manager: 'argocd-controller', operation: 'Apply' }] },
      ['Argo CD /'],
    ],
    [
      'no owner in a person',
      { managedFields: [{ manager: 'kubectl-client-side-apply', operation: 'Update' }] },
      [],
    ],
  ])('by %s', (_, metadata, owners) => {
    expect(of(metadata)).toEqual(owners);
  });

  it('once for several objects', () => {
    const metadata = { namespace: 'shop', annotations: { 'meta.helm.sh/release-name': 'a' } };
    const service = { metadata: { ...metadata, name: 'hook' }, spec: {} } as Service;
    const object: Workload = {
      metadata: { ...metadata, name: 'manager' },
      spec: { selector: {}, template: { spec: { containers: [] } } },
    };
    const target = {
      services: [{ service, serverName: '', calls: [], ports: [], source: '' }],
      manager: { ref: refOf('Deployment', object.metadata), object, container: { name: 'm' }, source: '' },
      namespace: 'shop',
    };
    expect(groupByOwner(target)).toMatchObject([
      { objects: ['Service shop/hook', 'Deployment shop/manager'] },
    ]);
  });
});

describe('whether it overwrites changes', () => {
  const owner = (kind: OwnerKind): Owner => ({ kind, name: 'a', namespace: 'flux', sign: 'a label' });
  const policy = (spec: Policy['spec']): Policy => ({
    metadata: { name: 'a', namespace: 'team' },
    ...(spec ? { spec } : {}),
  });
  const judged = (kind: OwnerKind, spec?: Policy['spec']) =>
    ownerFinding(owner(kind), ['Service shop/hook'], spec && policy(spec));

  it.each<[OwnerKind, Policy['spec'], string, RegExp]>([
    ['Argo CD', undefined, 'warn', /may overwrite/],
    ['Argo CD', {}, 'ok', /does not sync automatically/],
    ['Argo CD', { syncPolicy: { automated: null } }, 'ok', /does not sync automatically/],
    ['Argo CD', { syncPolicy: { automated: {} } }, 'warn', /next commit/],
    ['Argo CD', { syncPolicy: { automated: { selfHeal: true } } }, 'warn', /will overwrite/],
    ['Argo CD', { syncPolicy: { automated: { selfHeal: true, enabled: false } } }, 'ok', /./],
    ['Flux Kustomization', undefined, 'warn', /may overwrite/],
    ['Flux Kustomization', {}, 'warn', /will overwrite/],
    ['Flux Kustomization', { suspend: true }, 'ok', /suspended/],
    ['Flux HelmRelease', {}, 'ok', /only at the next upgrade/],
    ['Flux HelmRelease', { driftDetection: { mode: 'warn' } }, 'ok', /only at the next upgrade/],
    ['Flux HelmRelease', { driftDetection: { mode: 'enabled' } }, 'warn', /will overwrite/],
    ['Flux HelmRelease', { driftDetection: { mode: 'enabled' }, suspend: true }, 'ok', /suspended/],
    ['Flux HelmRelease', undefined, 'warn', /could not be read/],
    ['Helm', undefined, 'ok', /only at the next upgrade/],
    ['OLM', undefined, 'warn', /rotates the certificate/],
  ])('%s with %j: %s', (kind, spec, verdict, answer) => {
    expect(judged(kind, spec)).toMatchObject({ verdict, answer: expect.stringMatching(answer) });
  });

  it('comes with what pauses it', () => {
    expect(judged('Argo CD', { syncPolicy: { automated: { selfHeal: true } } }).hint).toContain(
      `kubectl -n team patch application a --type merge -p '{"spec":{"syncPolicy":{"automated":{"enabled":false}}}}'`,
    );
    expect(judged('Flux Kustomization', {}).hint).toBe(
      `kubectl -n flux patch kustomization a --type merge -p '{"spec":{"suspend":true}}'`,
    );
  });
});

it.each<OwnerKind>(['Argo CD', 'Flux Kustomization', 'Flux HelmRelease'])(
  'the command that pauses %s is one command, whatever the cluster calls it',
  (kind) => {
    const [namespace, name] = ['$(echo x)', 'app; echo evil|sh'];
    const { pause } = judgeOwner({ kind, namespace, name, sign: '' }, { metadata: { namespace, name } });
    const script = `kubectl() { printf '<%s>' "$@"; }\n${pause.replace(/ \(an .*/, '')}`;
    const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    expect(stdout).toContain(`<-n><${namespace}><patch>`);
    expect(stdout).toContain(`<${name}><--type>`);
  },
);
