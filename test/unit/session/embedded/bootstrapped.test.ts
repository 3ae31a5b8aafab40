import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { untilBootstrapped } from '../../../../src/session/embedded/bootstrapped.ts';
import type { Declared } from '../../../../src/session/embedded/declared.ts';
import { partly } from '../../../support/partly.ts';

type Api = Parameters<typeof untilBootstrapped>[0];

it('waits until the API server is ready, knows the accounts, and serves watches of the CRDs that it has just got', async () => {
  const asked: string[] = [];
  const fails = [
    '/readyz',
    'system:serviceaccount:shop:manager',
    '/apis/shop/v1/apps?watch=true&timeoutSeconds=5',
  ];
  const answer = (what: string): boolean => {
    asked.push(what);
    const at = fails.indexOf(what);
    if (at >= 0) fails.splice(at, 1);
    return at < 0;
  };
  const api = partly<Api>({
    async openStream(path: string) {
      if (!answer(path)) throw new Error('429 storage is (re)initializing');
      return partly({});
    },
    forwarderAs(account: { impersonated: string }) {
      const username = account.impersonated;
      return partly({
        async forward() {
          const isOk = answer(username);
          const text = JSON.stringify(
            isOk ? { status: { userInfo: { username } } } : { message: 'forbidden' },
          );
          return Object.assign(Readable.from([text]), { statusCode: isOk ? 201 : 403 });
        },
        [Symbol.dispose]() {},
      });
    },
  } as never);
  const versions = [
    { name: 'v1', served: true },
    { name: 'v0', served: false },
  ];
  const declared = [
    { kind: 'ServiceAccount', metadata: { name: 'manager', namespace: 'shop' } },
    {
      kind: 'CustomResourceDefinition',
      metadata: { name: 'apps.shop' },
      spec: { group: 'shop', names: { plural: 'apps' }, versions },
    },
  ] as unknown as Declared[];
  await untilBootstrapped(api, declared, { emit() {}, signal: new AbortController().signal });
  const [ready, account, watch] = [
    '/readyz',
    'system:serviceaccount:shop:manager',
    '/apis/shop/v1/apps?watch=true&timeoutSeconds=5',
  ];
  expect(asked).toEqual([ready, ready, account, ready, account, watch, ready, account, watch]);
  expect(fails).toEqual([]);
});
