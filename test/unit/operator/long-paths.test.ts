import { expect, test } from 'vitest';
import { namedVariables } from '../../../src/checkout/named-variables.ts';
import type { Container, Workload } from '../../../src/cluster/api/workloads.ts';
import { namedIn } from '../../../src/local/volume-places.ts';
import { certificateMounts, mountsOf } from '../../../src/operator/mounts.ts';
import type { TargetManager } from '../../../src/operator/target.ts';
import { mountPointsIn } from '../../../src/operator/volumes.ts';
import { partly } from '../../support/partly.ts';

const LENGTH = 150_000;
/** An expression that takes quadratic time needs more than twice as long for such a text. */
const LIMIT = 10_000;
const SLASHES = `/a${'/'.repeat(LENGTH)}b`;

function mountedAt(mountPath: string): { object: Workload; container: Container } {
  const volumes = [{ name: 'certs', secret: { secretName: 'certs' } }];
  const container = { name: 'manager', volumeMounts: [{ name: 'certs', mountPath }] };
  return {
    object: partly<Workload>({ spec: { template: { spec: { volumes, containers: [container] } } } }),
    container,
  };
}

test.each<[string, () => unknown]>([
  ['a volume', () => mountPointsIn(mountedAt(SLASHES) as TargetManager)[0]?.path === SLASHES],
  ['a mount', () => mountsOf(mountedAt(SLASHES).object, mountedAt(SLASHES).container)[0]?.path === SLASHES],
  [
    'an argument',
    () => certificateMounts([], { name: 'manager', args: [`--cert-dir=${SLASHES}`] }).length === 0,
  ],
  ['a path of the sources', () => namedIn(new Set([SLASHES]), '/a').length === 1],
])('%s with many slashes takes no quadratic time', { timeout: LIMIT }, (_, isRead) => {
  expect(isRead()).toBe(true);
});

test.each<[string, string]>([
  ['empty lines', '\n'.repeat(LENGTH)],
  ['beginnings of an attribute', '#[arg('.repeat(LENGTH / 2)],
])('sources with many %s take no quadratic time', { timeout: LIMIT }, (_, text) => {
  const source = `${text}?\nviper.AutomaticEnv()\n"SHOP`;
  expect([...namedVariables([[source]], ['SHOP_MODE'])]).toEqual([]);
});

test('trailing slashes of a mount point do not count, and the root stays one', () => {
  const paths = ['/certs//', '/certs', '/', '//'].map(
    (path) => mountPointsIn(mountedAt(path) as TargetManager)[0]?.path,
  );
  expect(paths).toEqual(['/certs', '/certs', '/', '/']);
});
