import { expect, test } from 'vitest';
import type { DoctorRun } from '../../../../src/session/doctor/check.ts';
import { endpointRoutingCheck } from '../../../../src/session/doctor/endpoint-routing.ts';
import { routeChecks } from '../../../../src/session/doctor/routes.ts';
import { partly } from '../../../support/partly.ts';

test('for a coding agent, the checks that write to the cluster are left to a person', async () => {
  const run = partly<DoctorRun>({ settings: { route: { value: 'auto' } }, io: { forAgent: true } });
  for (const check of [endpointRoutingCheck, ...routeChecks(run)]) {
    const done = check.run(run, new AbortController().signal);
    await expect(done).rejects.toThrow('A person can run it in a terminal: devloop doctor');
  }
});
