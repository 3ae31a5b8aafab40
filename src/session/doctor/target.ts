import { allDone } from '../../async.ts';
import { isForbidden } from '../../cluster/api/errors.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { assertTakeable } from '../../cluster/takeover/service.ts';
import { DevloopError } from '../../errors.ts';
import type { TargetService } from '../../operator/target.ts';
import { servicePort } from '../../operator/workload.ts';
import { withNames } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import { targetsOf } from '../context/holders.ts';
import { selectorMissing } from '../start/selectorless.ts';
import { requireRunnable } from '../start/undeployed.ts';
import { type Check, type DiscoveredOperator, type Finding, findingOf, NotChecked } from './check.ts';
import { targetWithServices } from './shared-work.ts';

/** Which operator would be taken over? */
export const targetCheck: Check = {
  name: 'target',
  limitSeconds: 60,
  async run({ context, operator, permissions }) {
    try {
      const found = await operator;
      if (isUndeployed(found)) await requireRunnable(await context, found.facts, {});
      return targetFinding(found);
    } catch (error) {
      // The list of all missing permissions is more useful than the first refusal.
      if (isForbidden(error) && (await permissions).lacking.length > 0)
        throw new NotChecked('the permissions to find it are missing');
      throw error;
    }
  },
};

export function targetFinding({ target, events }: Pick<DiscoveredOperator, 'target' | 'events'>): Finding {
  const proof = events.flatMap((event) =>
    event.type === 'discovered' ? [`${event.what}: ${event.source}`] : [],
  );
  const warnings = events.flatMap((event) =>
    event.type === 'warning' || event.type === 'note' ? [event.message] : [],
  );
  if (isUndeployed({ target })) {
    const answer =
      'no operator in the cluster matches this checkout, so `up` would run the controller without reviews';
    const hint = 'If it is deployed, name it: devloop doctor --deployment NAMESPACE/NAME';
    return { verdict: 'warn', answer, hint };
  }
  const answer = [...targetsOf(target).map(describe), ...warnings].join('\n');
  const hints = events.flatMap((event) => (event.type === 'warning' ? (event.hint ?? []) : []));
  const next = hints.length === 0 ? {} : { hint: hints.join('\n') };
  return { verdict: warnings.length > 0 ? 'warn' : 'ok', answer, proof, ...next };
}

function isUndeployed({ target }: Pick<DiscoveredOperator, 'target'>): boolean {
  return target.services.length === 0 && target.manager === undefined;
}

/** Can each webhook Service be redirected, and do its ports match its callers and the manager? */
export const serviceCheck: Check = {
  name: 'service',
  limitSeconds: 60,
  async run(run) {
    const { target, refusals } = await targetWithServices(run);
    const { api } = await run.context;
    const wrong = refusals.map(({ error }) => findingOf(error));
    const others = target.services.filter((one) => !refusals.some(({ service }) => service === one.service));
    const missing = await allDone(others.map(({ service }) => selectorMissing(api, service, target.manager)));
    return [...wrong, ...others.map((one, index) => serviceFinding(one, missing[index]))];
  },
};

export function serviceFinding(service: TargetService, missing?: DevloopError): Finding {
  const { namespace, name } = service.service.metadata;
  try {
    assertTakeable(service.service);
    if (missing !== undefined) throw missing;
  } catch (error) {
    if (!(error instanceof DevloopError)) throw error;
    return findingOf(error);
  }
  const ports = service.ports.map(({ port, targetPort }) => {
    const declared = servicePort(service.service, port)?.targetPort;
    return `${port} -> ${typeof declared === 'string' ? `${declared} (${targetPort})` : targetPort}`;
  });
  const callers = [...new Set(service.calls.map((call) => describe(call.from)))];
  const taken = sessionOf(service.service) === undefined ? '' : '; a session has redirected it';
  return {
    verdict: 'ok',
    answer: `Service ${namespace}/${name} can be redirected${taken}: ${withNames('port', ports)}`,
    proof: callers.length > 0 ? callers.map((one) => `called by ${one}`) : ['not called by any webhook yet'],
  };
}

/** Is the operator free of other sessions? */
export const sessionCheck: Check = {
  name: 'session',
  limitSeconds: 60,
  run: async ({ deadSessions }) => sessionFinding(await deadSessions),
};

export function sessionFinding(dead: string[]): Finding {
  if (dead.length === 0) {
    const proof = ['no active Lease, and no devloop label on its objects'];
    return { verdict: 'ok', answer: 'no session holds the operator', proof };
  }
  return {
    verdict: 'warn',
    answer: `${withNames('session', dead)} ${dead.length === 1 ? 'is dead, and its' : 'are dead, and their'} changes have not been restored`,
    proof: ['its label is on the objects', 'its process is gone, or its Lease is not being renewed'],
    hint: 'devloop down (the next `devloop up` restores them, too)',
  };
}
