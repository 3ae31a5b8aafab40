import { expect, test } from 'vitest';
import { electionLine } from '../../../src/controller/election.ts';

const LEASE = { namespace: 'shop-system', name: '5f1d3c2a.example.com' };

test.each([
  [
    'klog, old',
    'I1128 06:00:00.123456    7 leaderelection.go:250] attempting to acquire leader lease shop-system/5f1d3c2a.example.com...',
  ],
  [
    'klog, older',
    'I1128 leaderelection.go:243] attempting to acquire leader lease  shop-system/5f1d3c2a.example.com...',
  ],
  [
    'klog',
    'I1128 06:00:00.1 7 leaderelection.go:258] "Attempting to acquire leader lease..." lock="shop-system/5f1d3c2a.example.com"',
  ],
  [
    'zap',
    '2026-11-28T06:00:00Z\tINFO\tAttempting to acquire leader lease...\t{"lock": "shop-system/5f1d3c2a.example.com"}',
  ],
  ['JSON', '{"level":"info","msg":"attempting to acquire leader lease shop-system/5f1d3c2a.example.com..."}'],
])('a candidate says so: %s', (_, line) => {
  expect(electionLine(line)).toEqual({ is: 'candidate', ...LEASE });
});

test.each([
  [
    'klog, old',
    'I1128 06:00:00.1 7 leaderelection.go:260] successfully acquired lease shop-system/5f1d3c2a.example.com',
  ],
  [
    'klog',
    'I1128 06:00:00.1 7 leaderelection.go:272] "Successfully acquired lease" lock="shop-system/5f1d3c2a.example.com"',
  ],
  ['JSON', '{"msg":"Successfully acquired lease","v":0,"lock":"shop-system/5f1d3c2a.example.com"}'],
])('a leader says so: %s', (_, line) => {
  expect(electionLine(line)).toEqual({ is: 'leader', ...LEASE });
});

test.each([
  'I1128 leaderelection.go:300] "Failed to renew lease" lock="shop-system/5f1d3c2a.example.com"',
  'successfully acquired lease',
  'successfully acquired lease of the port 9443',
  'the new leader is shop-system/shop_1',
])('nothing else is taken for it: %s', (line) => {
  expect(electionLine(line)).toBeUndefined();
});

test('only the beginning of a line counts, however long it is', () => {
  const said = 'successfully acquired lease shop/abc';
  expect(electionLine(`${' '.repeat(900)}${said}`)).toEqual({ is: 'leader', namespace: 'shop', name: 'abc' });
  expect(electionLine(`${' '.repeat(1024)}${said}`)).toBeUndefined();
  expect(electionLine(`successfully acquired lease ${'lock-'.repeat(300)} lock=shop/abc`)).toBeUndefined();
});
