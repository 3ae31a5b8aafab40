import { expect, it } from 'vitest';
import { forbidden, missing } from '../../../src/cluster/api/permissions.ts';
import { relayPermissions } from '../../../src/cluster/relay/watch.ts';
import { endpointPermissions } from '../../../src/cluster/takeover/endpoints.ts';
import { discoveryPermissions } from '../../../src/operator/permissions.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

interface Asked {
  verb: string;
  resource: string;
  subresource?: string;
}

/** An API server that allows what `allows` returns true for. */
function clusterWith(allows: (asked: Asked) => boolean) {
  return fakeCluster((_method, _path, body) => {
    const { resourceAttributes } = (body as { spec: { resourceAttributes: Asked } }).spec;
    return { status: { allowed: allows(resourceAttributes) } };
  }).api;
}

it('lists all missing permissions, grouped by resource, with a command to check one', async () => {
  const denied = ['endpointslices', 'mutatingwebhookconfigurations'];
  const api = clusterWith(({ resource }) => !denied.includes(resource));
  const error = forbidden(
    api,
    await missing(api, [...endpointPermissions('shop'), ...discoveryPermissions('shop')]),
  );
  expect(error.code).toBe('cluster.forbidden');
  expect(error.message.split('\n').slice(1)).toEqual([
    expect.stringMatching(
      /^ {2}get, list, create, update, delete {2}endpointslices\.discovery\.k8s\.io in namespace shop: /,
    ),
    expect.stringMatching(
      /^ {2}list(, watch)? {2}mutatingwebhookconfigurations\.admissionregistration\.k8s\.io \(cluster-wide\): /,
    ),
  ]);
  expect(error.hint).toContain('kubectl --context fake auth can-i get endpointslices -n shop');
});

it('names permissions with their subresource', async () => {
  const api = clusterWith(({ subresource, verb }) => subresource !== 'portforward' || verb === 'get');
  const lacking = await missing(api, relayPermissions('shop'));
  expect(lacking).toMatchObject([{ kind: 'Pod', subresource: 'portforward', verb: 'create' }]);
  const error = forbidden(api, lacking);
  expect(error.message).toContain('create  pods/portforward in namespace shop');
  expect(error.hint).toContain('auth can-i create pods/portforward -n shop');
});
