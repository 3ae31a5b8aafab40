import { expect, it } from 'vitest';
import type { ObjectRef } from '../../../../src/cluster/api/kinds.ts';
import type { KubeObject, Metadata } from '../../../../src/cluster/api/objects.ts';
import { fought } from '../../../../src/session/guard/causes.ts';
import { fakeCluster } from '../../../support/fake-cluster.ts';

const DEPLOYMENT: ObjectRef = { kind: 'Deployment', namespace: 'shop', name: 'manager' };
const SERVICE: ObjectRef = { kind: 'Service', namespace: 'shop', name: 'hook' };
const labelled = (part: string) => ({
  labels: { [`${part}.toolkit.fluxcd.io/name`]: 'a', [`${part}.toolkit.fluxcd.io/namespace`]: 'flux' },
});
const controlled = { ownerReferences: [{ kind: 'Shop', name: 'shop', uid: '1', controller: true }] };

/** The hint if this writer keeps writing a field of the object. */
async function hintFor(
  ref: ObjectRef,
  metadata: Partial<Metadata>,
  manager: string,
  replicas?: number,
): Promise<string> {
  const cluster = fakeCluster(() => ({ metadata: { name: 'a' }, items: [] }));
  const { api } = cluster;
  if (replicas !== undefined)
    cluster.put('Deployment', {
      metadata: { namespace: 'shop', name: manager },
      spec: { replicas },
    } as KubeObject);
  const path = ref.kind === 'Service' ? ['spec', 'selector'] : ['spec', 'replicas'];
  const by = { manager, operation: 'Update' };
  const object = { metadata: { name: ref.name, namespace: 'shop', ...metadata } };
  const error = await fought(api, ref, object, { path, ours: 0, now: 1, by });
  expect(error).toMatchObject({ code: 'session.overwritten', message: expect.stringContaining(manager) });
  return error.hint ?? '';
}

const SUSPENDED = `--type merge -p '{"spec":{"suspend":true}}'`;

it.each<[string, string, Partial<Metadata>, string]>([
  [
    'Argo CD',
    'argocd-controller',
    { annotations: { 'argocd.argoproj.io/tracking-id': 'a:b' } },
    '"enabled":false',
  ],
  [
    'Flux',
    'kustomize-controller',
    labelled('kustomize'),
    `kubectl -n flux patch kustomization a ${SUSPENDED}`,
  ],
  ['Flux for Helm', 'helm-controller', labelled('helm'), `kubectl -n flux patch helmrelease a ${SUSPENDED}`],
  ['Helm', 'helm', { annotations: { 'meta.helm.sh/release-name': 'a' } }, 'Do not upgrade the Helm release'],
  ['OLM', 'olm.install', { labels: { 'olm.managed': 'true' } }, '"installPlanApproval":"Manual"'],
])('%s: the hint of a fight has the setting that stops it', async (_, manager, metadata, setting) => {
  expect(await hintFor(DEPLOYMENT, metadata, manager)).toContain(setting);
  expect(await hintFor(SERVICE, metadata, manager)).toContain(setting);
});

it('a parent that scales a Deployment: its operator is named, and the pause that leaves the replicas alone', async () => {
  const hint = await hintFor(DEPLOYMENT, controlled, 'shop-operator');
  expect(hint).toContain('Shop shop');
  expect(hint).toMatch(/: <again> --pause lease$/m);
  // That way to pause does not help for a Service.
  expect(await hintFor(SERVICE, controlled, 'shop-operator')).not.toContain('--pause');
});

it('a writer with the name of a Deployment that runs: the hint has the command that pauses it', async () => {
  const command = 'kubectl -n shop scale deployment shop-operator --replicas=0';
  expect(await hintFor(DEPLOYMENT, controlled, 'shop-operator', 1)).toContain(command);
  expect(await hintFor(SERVICE, {}, 'shop-operator', 1)).toContain(command);
  expect(await hintFor(SERVICE, {}, 'shop-operator')).not.toContain('scale deployment');
  expect(await hintFor(SERVICE, {}, 'shop-operator', 0)).not.toContain('scale deployment');
});
