import { expect, it } from 'vitest';
import { DevloopError } from '../../../src/errors.ts';
import { orWithoutCluster } from '../../../src/session/start/without-cluster.ts';

it('an error of up for which there is no cluster names the way that needs none, and no other does', () => {
  const embedded = expect.stringContaining('devloop up --embedded');
  for (const code of ['kubeconfig.missing', 'cluster.unreachable'] as const)
    expect(orWithoutCluster(new DevloopError(code, 'x', { hint: 'y' }))).toMatchObject({
      code,
      hint: embedded,
    });
  const other = new DevloopError('cluster.forbidden', 'x');
  expect(orWithoutCluster(other)).toBe(other);
});
