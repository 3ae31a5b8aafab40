import { expect, it } from 'vitest';
import { similarNames } from '../../src/similar.ts';

const NAMES = ['.', 'shop-controller-manager', 'shop-webhook-service', 'cert-manager', 'redis'];

it.each([
  ['rdeis', ['redis']],
  ['REDIS', ['redis']],
  ['webhook', ['shop-webhook-service']],
  ['webhok', ['shop-webhook-service']],
  ['shop-controler', ['shop-controller-manager']],
  ['controlelr-manager', ['shop-controller-manager']],
  ['cert-manger', ['cert-manager']],
  ['redis-master', ['redis']],
  ['./cmd', []],
  ['hok', []],
  ['postgres', []],
  ['x'.repeat(1000), []],
])('%s is similar to %j', (typed, expected) => {
  expect(similarNames(typed, NAMES)).toEqual(expected);
});
