import { expect, it } from 'vitest';
import type { TargetService } from '../../../src/operator/target.ts';
import { startGateways } from '../../../src/session/route/gateways.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { partly } from '../../support/partly.ts';

it('refuses a port that is not followed by enough ports', async () => {
  const ports = [9443, 9444].map((targetPort) => ({ name: '', port: targetPort, targetPort }));
  const target = { services: [partly<TargetService>({ ports, calls: [] })] };
  const { api } = fakeCluster();
  const plan = (port: number) => ({ api, target, sessionId: 's1', settings: { port }, emit() {} });
  await expect(startGateways(plan(65_535), '192.0.2.1')).rejects.toMatchObject({
    code: 'usage.invalid',
    message: expect.stringContaining('2 consecutive ports'),
    hint: expect.stringContaining('--port 65534'),
  });
  // Behind a tunnel the port is not one of this machine.
  await using gateways = await startGateways(plan(65_535), '127.0.0.1');
  expect(gateways.ports).toHaveLength(2);
});
