import { expect, test } from 'vitest';
import type { Workload } from '../../../../src/cluster/api/workloads.ts';
import type { Reconciler } from '../../../../src/operator/target.ts';
import type { Question } from '../../../../src/session/context/question.ts';
import type { DoctorRun } from '../../../../src/session/doctor/check.ts';
import { consentFinding } from '../../../../src/session/doctor/consent.ts';
import { probeTarget } from '../../../../src/session/doctor/routes.ts';
import { partly } from '../../../support/partly.ts';

const reconciler: Reconciler = {
  ref: { kind: 'Deployment', namespace: 'hub', name: 'operator' },
  object: partly<Workload>({ metadata: {}, spec: {} }),
  evidence: { wrote: { kind: 'Service', namespace: 'shop', name: 'hooks' }, writer: 'hub-operator' },
};
const asked: Question = {
  cluster: { id: 'uid 1', context: 'prod', server: 'https://prod' },
  taken: ['Service shop/hooks'],
  chosen: [],
  circumstances: [],
  reconcilers: [reconciler],
};

test('names what `up` would ask, with the evidence and the flags', () => {
  const finding = consentFinding({ asked, pending: asked }, asked);
  expect(finding).toMatchObject({ verdict: 'info', proof: [expect.stringContaining('uid 1')] });
  for (const part of ['prod', 'Service shop/hooks', 'Deployment hub/operator', 'hub-operator'])
    expect(finding.answer).toContain(part);
  expect(finding.hint).toContain('devloop up --yes --also-pause hub/operator');
});

test('without a question, says what the cluster is known by', () => {
  const cluster = { ...asked.cluster, tool: 'kind' };
  expect(consentFinding(undefined, { cluster })).toMatchObject({
    ...{ verdict: 'ok', proof: [expect.stringContaining('kind')] },
  });
});

const metadata = { namespace: 'shop', name: 'hooks' };
const service = { service: { metadata, spec: {} }, ports: [], calls: [] };

test('nothing is created in a cluster that the user has not agreed to; what else would be paused does not matter', async () => {
  const probed = (pending?: Partial<Question>) => {
    const open = pending && { asked, pending: { ...asked, taken: [], ...pending } };
    const run = {
      io: {},
      operator: Promise.resolve({ target: { services: [service] } }),
      permissions: Promise.resolve({ asked: [], lacking: [], routes: [] }),
      consent: Promise.resolve({ open, question: asked }),
    };
    return probeTarget(partly<DoctorRun>(run as never));
  };
  for (const pending of [{ taken: asked.taken }, { chosen: ['context prod of devloop.yaml'] }])
    await expect(probed(pending)).rejects.toThrow(/not agreed .*: devloop doctor --context prod$/);
  for (const pending of [undefined, {}]) expect((await probed(pending)).services).toHaveLength(1);
});
