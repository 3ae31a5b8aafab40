import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ClusterApi } from '../../../src/cluster/api/client.ts';
import type { Work } from '../../../src/cluster/work.ts';
import type { Target } from '../../../src/operator/target.ts';
import { followPaths } from '../../../src/session/route/paths.ts';

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
    openStream: (async (_: string, { signal }: { signal: AbortSignal }) => {
      signal.throwIfAborted();
      await once(signal, 'abort');
      throw signal.reason;
    }) as unknown as ClusterApi['openStream'],
  };
}

function follow(isCalm?: Promise<void>) {
  const asked: string[] = [];
  const accepted: string[][] = [];
  const gateways = { accept: (paths: Iterable<string>) => void accepted.push([...paths]) };
  const { signal } = new AbortController();
  const work = { api: definitionsOf(asked), emit() {}, signal } as unknown as Work;
  const target = { services: [{ service: { metadata: SERVICE }, calls: [] }] } as unknown as Target;
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
