import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ClusterApi } from '../../../src/cluster/api/client.ts';
import type { Work } from '../../../src/cluster/work.ts';
import type { Target } from '../../../src/operator/target.ts';
import { followPaths } from '../../../src/session/route/paths.ts';
import { eventually } from '../../support/eventually.ts';
import { partly } from '../../support/partly.ts';

const SERVICE = { namespace: 'shop', name: 'hook' };
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** A cluster with two CRDs that name a path of the Service; one has no second version, so kube-apiserver converts nothing. */
function definitionsOf(asked: string[]): Pick<ClusterApi, 'call' | 'openStream'> {
  const definition = (plural: string, path: string, versions: string[]) => ({
    metadata: { name: `${plural}.shop.example.com` },
    spec: {
      versions: versions.map((name) => ({ name, schema: {} })),
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { service: { ...SERVICE, path } }, conversionReviewVersions: ['v1'] },
      },
    },
  });
  const definitions = [
    definition('orders', '/other', ['v1', 'v2']),
    definition('carts', '/never-called', ['v1']),
  ];
  return {
    call: (async (_: string, path: string) => {
      asked.push(path);
      return { items: path === DEFINITIONS ? definitions : [] };
    }) as ClusterApi['call'],
    openStream: async (_: string, { signal }: { signal: AbortSignal }) => {
      signal.throwIfAborted();
      await once(signal, 'abort');
      throw signal.reason;
    },
  };
}

function follow(isCalm?: Promise<void>) {
  const asked: string[] = [];
  const accepted: string[][] = [];
  const gateways = { accept: (paths: Iterable<string>) => void accepted.push([...paths]) };
  const { signal } = new AbortController();
  const work = partly<Work>({ api: definitionsOf(asked), emit() {}, signal });
  const target = partly<Target>({ services: [{ service: { metadata: SERVICE }, calls: [] }] });
  const following = followPaths(work, target, { gateways, ...(isCalm && { isCalm }) });
  return { asked, accepted, following };
}

it('takes conversions where controller-runtime serves them, until there is time to list the CRDs', async () => {
  const calm = Promise.withResolvers<void>();
  const { asked, accepted, following } = follow(calm.promise);
  await using _following = following;
  await turn();
  expect(asked).not.toContain(DEFINITIONS);
  expect(accepted.at(-1)).toEqual(['/convert']);
  calm.resolve();
  await turn();
  expect(asked).toContain(DEFINITIONS);
  expect(accepted.at(-1)).toEqual(['/other']);
});

it('ends, though there never was time', async () => {
  const { asked, following } = follow(new Promise(() => {}));
  await following[Symbol.asyncDispose]();
  expect(asked).not.toContain(DEFINITIONS);
});

it('reads the fields of the CRDs that the webhooks review, and again when a webhook for another group is added', async () => {
  const schema = (field: string) => ({ openAPIV3Schema: { type: 'object', properties: { [field]: {} } } });
  const definition = (kind: string, group: string) => ({
    metadata: { name: `${kind}.${group}` },
    spec: { group, names: { kind }, versions: [{ name: 'v1', storage: true, schema: schema(kind) }] },
  });
  const rule = (group: string) => ({ apiGroups: [group] });
  const hook = (name: string, group: string) => ({
    ...{ name, rules: [rule(group)], clientConfig: { service: { ...SERVICE, path: `/${name}` } } },
  });
  const webhooks = [hook('first', 'shop')];
  const watching: ((event: object) => void)[] = [];
  const api = {
    call: (async (_: string, path: string) => {
      const configurations = path.includes('mutating')
        ? [{ metadata: { name: 'hooks' }, webhooks: [...webhooks] }]
        : [];
      const definitions = ['shop', 'other', 'third'].map((group) => definition('paint', group));
      return { items: path === DEFINITIONS ? definitions : configurations };
    }) as ClusterApi['call'],
    openStream: async (path: string, { signal }: { signal: AbortSignal }) => {
      const events: Buffer[] = [];
      const added = Promise.withResolvers<void>();
      if (path.includes('mutating'))
        watching.push((event) => {
          events.push(Buffer.from(`${JSON.stringify(event)}\n`));
          added.resolve();
        });
      await Promise.race([once(signal, 'abort'), added.promise]);
      signal.throwIfAborted();
      return Readable.from(events);
    },
  };
  const seen: string[][] = [];
  const target = partly<Target>({ services: [{ service: { metadata: SERVICE }, calls: [] }] });
  const work = partly<Work>({ api, emit() {}, signal: new AbortController().signal });
  await using _following = followPaths(work, target, {
    gateways: { accept() {} },
    onFields: (crds) => void seen.push(crds.map(({ group }) => group)),
  });
  await eventually(async () => expect(seen.at(-1)).toEqual(['shop']));
  const object = { metadata: { name: 'hooks' }, webhooks: [...webhooks, hook('second', 'other')] };
  watching[0]!({ type: 'MODIFIED', object });
  await eventually(async () => expect(seen.at(-1)).toEqual(['shop', 'other']));
});
