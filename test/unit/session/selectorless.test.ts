import { expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import type { TargetService } from '../../../src/operator/target.ts';
import { serviceFinding } from '../../../src/session/doctor/target.ts';
import { requireSelectors, selectorless } from '../../../src/session/start/selectorless.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const metadata = { name: 'hook', namespace: 'shop' };
const service: Service = { metadata, spec: {} };
const endpoints: Endpoints = {
  metadata,
  subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 9443 }] }],
};

function manager(matchLabels: Record<string, string>, namespace = 'shop') {
  const template = { metadata: { labels: { ...matchLabels, more: 'x' } }, spec: { containers: [] } };
  const object: Workload = { metadata, spec: { selector: { matchLabels }, template } };
  return { ref: { kind: 'Deployment', namespace, name: 'manager' } as const, object };
}

function slice(name: string, address: string, managedBy?: string): EndpointSlice {
  const labels: Record<string, string> =
    managedBy === undefined ? {} : { 'endpointslice.kubernetes.io/managed-by': managedBy };
  return {
    metadata: { namespace: 'shop', name, labels },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
    ports: [{ port: 9443 }],
  };
}

const refusal = (
  slices: EndpointSlice[] = [],
  by: ReturnType<typeof manager> | undefined = manager({ app: 'shop' }),
) => selectorless({ service, endpoints, slices, context: 'my kind' }, by);

it('a Service without a selector is refused with its addresses and the command that restores the selector', () => {
  const { message, hint, exitCode } = refusal();
  expect(exitCode).toBe(2);
  expect(message).toContain('192.0.2.1:9443');
  expect(hint).toContain(
    `kubectl --context 'my kind' -n shop patch service hook --type merge -p '{"spec":{"selector":{"app":"shop"}}}'\n`,
  );
  expect(hint).toContain('devloop up --adopt');
});

it('the command deletes slices made by hand, and not those of Kubernetes', () => {
  const mirrored = slice('m', '192.0.2.1', 'endpointslicemirroring-controller.k8s.io');
  const left = slice('l', '10.1.0.9', 'endpointslice-controller.k8s.io');
  const { message, hint } = refusal([mirrored, left, slice('own', '192.0.2.2')]);
  expect(message).toContain('192.0.2.1:9443, 192.0.2.2:9443.');
  expect(hint).toMatch(/' && kubectl --context 'my kind' -n shop delete endpointslices own\n/);
});

it('labels are quoted for the shell', () => {
  expect(refusal([], manager({ app: "x'; rm -rf '" })).hint).toContain(`"x'\\''; rm -rf '\\''"`);
});

it('without a Deployment in the namespace of the Service, the Deployment has to be named', () => {
  const hints = [
    selectorless({ service, endpoints, slices: [], context: 'kind' }, undefined).hint,
    refusal([], manager({ app: 'shop' }, 'elsewhere')).hint,
  ];
  for (const hint of hints) {
    expect(hint).toContain('--deployment NAMESPACE/NAME');
    expect(hint).not.toContain('patch');
  }
});

it('only --adopt accepts it, and not over the relay', async () => {
  const from = { kind: 'ValidatingWebhookConfiguration', name: 'w' } as const;
  const calls: TargetService['calls'] = [
    { from, name: 'w', path: '/x', port: 443, caBundle: '', groups: [] },
  ];
  const ask = (adopt: boolean, choice: 'auto' | 'relay' = 'auto', by = calls) => {
    const services = [{ service, serverName: '', calls: by, ports: [], source: '' }];
    return requireSelectors(fakeCluster().api, { services }, { adopt, choice });
  };
  for (const adopt of [false, true])
    await expect(ask(adopt, 'auto', [])).rejects.toMatchObject({ code: 'service.unsupported' });
  await expect(ask(false)).rejects.toMatchObject({ code: 'service.selectorless' });
  await expect(ask(true)).resolves.toBeUndefined();
  await expect(ask(true, 'relay')).rejects.toMatchObject({ code: 'service.unsupported' });
});

it('doctor fails the Service with the same error', () => {
  const found = { service, serverName: '', calls: [], ports: [], source: '' };
  expect(serviceFinding(found, refusal())).toMatchObject({ verdict: 'fail', code: 'service.selectorless' });
});
