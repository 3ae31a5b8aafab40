import { expect, it } from 'vitest';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { AGAIN } from '../../../src/errors.ts';
import { inNamedNamespaces } from '../../../src/session/context/namespaces.ts';
import { searchedIn, unsearched } from '../../../src/session/context/search.ts';
import { fakeCluster, refusal } from '../../support/fake-cluster.ts';

function clusterWith(...names: string[]) {
  const cluster = fakeCluster();
  for (const name of names) cluster.put('Namespace', { metadata: { name } });
  return cluster;
}

const wanted = (namespace?: string, ...services: string[]) => ({ services, namespace });

it('a namespace that does not exist is the error, with the similar ones, whatever else went wrong', async () => {
  const { api } = clusterWith('shop-system', 'shop-sistem-2', 'default');
  const work = Promise.reject(new Error('nothing found'));
  await expect(inNamedNamespaces({ api, wanted: wanted('shop-sytem') }, work)).rejects.toMatchObject({
    code: 'target.not-found',
    exitCode: 2,
    message: expect.stringContaining('Namespace shop-sytem'),
    hint: `${AGAIN} -n shop-system`,
  });
  await expect(inNamedNamespaces({ api, wanted: wanted('shop') }, Promise.resolve())).rejects.toMatchObject({
    hint: `${AGAIN} -n shop-system\n${AGAIN} -n shop-sistem-2`,
  });
  await expect(inNamedNamespaces({ api, wanted: wanted('zzz') }, Promise.resolve())).rejects.toMatchObject({
    hint: 'kubectl get namespaces',
  });
});

it('so is one that an object is named in', async () => {
  const { api } = clusterWith('shop');
  const found = inNamedNamespaces({ api, wanted: wanted('shop', 'shp/webhook') }, Promise.resolve());
  await expect(found).rejects.toMatchObject({ message: expect.stringContaining('Namespace shp ') });
  expect(await inNamedNamespaces({ api, wanted: wanted('shop', 'webhook') }, Promise.resolve(1))).toBe(1);
});

it('an account that is not allowed to read namespaces goes without', async () => {
  const cluster = clusterWith();
  cluster.hook.before = () => {
    throw refusal(403, 'Forbidden');
  };
  expect(await inNamedNamespaces({ api: cluster.api, wanted: wanted('shop') }, Promise.resolve(1))).toBe(1);
});

it('an account that may list nothing is told from one that may list something', async () => {
  const cluster = clusterWith();
  const blind = async (forbidden: (what: string) => boolean): Promise<unknown> => {
    cluster.hook.before = (verb, what) => {
      if (verb === 'list' && forbidden(what)) throw refusal(403, 'Forbidden');
    };
    return (await findMarked(cluster.api, ['shop', 'other'])).blind;
  };
  expect(await blind(() => true)).toBe(true);
  expect(await blind((what) => !what.startsWith('Lease shop'))).toBeUndefined();
  expect(await blind(() => false)).toBeUndefined();
});

it('an account that may not list the whole cluster is told where devloop looked', async () => {
  const cluster = clusterWith();
  const context = { api: cluster.api };
  const everywhere = await findMarked(cluster.api, ['shop']);
  expect(searchedIn(context, everywhere, undefined)).toEqual({ context: 'fake' });
  expect(unsearched(everywhere, undefined)).toEqual([]);
  cluster.hook.before = (verb, what) => {
    if (verb === 'list' && what.endsWith('*')) throw refusal(403, 'Forbidden');
  };
  const found = await findMarked(cluster.api, ['shop']);
  expect(searchedIn(context, { ...found, unseen: [] }, undefined)).toEqual({
    context: 'fake',
    namespaces: ['shop'],
  });
  expect(searchedIn(context, { ...found, unseen: [{ kind: 'Lease' }] }, 'shop').incomplete).toBe(true);
  const [warning] = unsearched({ ...found, unseen: [] }, undefined);
  const hint = expect.stringContaining(`${AGAIN} -n`);
  expect(warning).toMatchObject({ code: 'search.partial', values: { namespaces: ['shop'] }, hint });
  expect(unsearched({ ...found, unseen: [] }, 'shop')).toEqual([]);
});
