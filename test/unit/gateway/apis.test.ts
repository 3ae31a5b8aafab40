import { expect, test } from 'vitest';
import { isForApi } from '../../../src/gateway/paths.ts';
import { setUp } from './support.ts';

const APIS = ['v1.allocation.example.com', 'v1beta1.shop.example.com'];

test('what kube-apiserver asks for an API is known by its path', () => {
  const own = [
    '/apis/allocation.example.com/v1',
    '/apis/shop.example.com/v1beta1?timeout=32s',
    '/apis/allocation.example.com/v1/namespaces/default/allocations',
    '/openapi/v2',
    '/openapi/v3',
    '/apis',
  ];
  for (const url of own) expect(isForApi(url, APIS), url).toBe(true);
  const others = ['/apis/allocation.example.com/v12', '/apis/other.example.com/v1', '/validate', '/', '/api'];
  for (const url of others) expect(isForApi(url, APIS), url).toBe(false);
  for (const url of own) expect(isForApi(url, []), url).toBe(false);
});

test('requests for an API whose requests arrive here are refused without a warning of strangers', async () => {
  const bench = await setUp(undefined, { apis: APIS });
  expect((await bench.ask('/apis/allocation.example.com/v1')).status).toBe(404);
  expect((await bench.ask('/openapi/v2')).status).toBe(404);
  await bench[Symbol.asyncDispose]();
  expect(bench.events).toEqual([]);
});

test('other requests there are those of strangers', async () => {
  const bench = await setUp(undefined, { apis: APIS });
  expect((await bench.ask('/apis/other.example.com/v1')).status).toBe(404);
  await bench[Symbol.asyncDispose]();
  expect(bench.events).toMatchObject([{ code: 'gateway.strangers', values: { requests: 1 } }]);
});
