import { expect, test } from 'vitest';
import { apiCall, type CalledResource } from '../../../src/api-proxy/api-call.ts';
import { Versions } from '../../../src/calls/versions.ts';
import type { KubeObject } from '../../../src/cluster/api/objects.ts';

const of = apiCall({ method: 'GET', url: '/apis/apps/v1/namespaces/shop/deployments/web' }).resource!;

function web(version: number, uid = 'u1', apiVersion = 'apps/v1'): KubeObject {
  const metadata = { name: 'web', namespace: 'shop', uid, resourceVersion: String(version) };
  return { apiVersion, kind: 'Deployment', metadata } as KubeObject;
}

test('the version before is the newest that had passed then, whatever passed since', () => {
  const versions = new Versions();
  versions.add({ of, object: web(9), at: 1 });
  versions.add({ of, object: web(10), at: 2 });
  versions.add({ of, object: web(11), at: 5 });
  expect(versions.add({ of, object: web(11), at: 6 }, 4)).toEqual(web(10));
  expect(versions.at(of, 1)).toEqual(web(9));
  expect(versions.at(of, 0.5)).toBe(undefined);
});

test('another object of the same name has no version before it', () => {
  const versions = new Versions();
  versions.add({ of, object: web(1), at: 1 });
  expect(versions.add({ of, object: web(2, 'u2'), at: 2 })).toBe(undefined);
  // What is said of the old one later does not replace the new one.
  expect(versions.add({ of, object: web(1), at: 3 })).toBe(undefined);
  expect(versions.at(of, 4)).toEqual(web(2, 'u2'));
});

test('an object is known in the API version in which it passed, and not by its metadata', () => {
  const versions = new Versions();
  const others: CalledResource[] = [
    { ...of, version: 'v1beta1' },
    { ...of, resource: 'statefulsets' },
    { ...of, namespace: 'cart' },
  ];
  versions.add({ of, object: web(1, 'u1', 'meta.k8s.io/v1'), at: 1 });
  expect(versions.has(of)).toBe(false);
  versions.add({ of, object: web(1), at: 1 });
  expect(versions.has(of)).toBe(true);
  expect(versions.has({ ...of, subresource: 'status' })).toBe(true);
  for (const other of others) expect(versions.has(other)).toBe(false);
});

test('those that passed long ago are forgotten first', () => {
  const versions = new Versions();
  const large = 'x'.repeat(2 ** 20);
  for (let index = 0; index < 20; index++) {
    const object = web(1, `u${index}`);
    object.metadata.name = `web-${index}`;
    versions.add({ of, object: { ...object, spec: { large } } as KubeObject, at: index });
  }
  const known = Array.from({ length: 20 }, (_, index) => versions.has({ ...of, name: `web-${index}` }));
  expect(known.lastIndexOf(false)).toBeLessThan(known.indexOf(true));
  expect(known.filter(Boolean).length).toBeLessThan(17);
});
