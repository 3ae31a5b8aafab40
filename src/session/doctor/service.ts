import { sessionOf } from '../../cluster/marks/marks.ts';
import { assertTakeable } from '../../cluster/takeover/service.ts';
import { DevloopError } from '../../errors.ts';
import type { TargetService } from '../../operator/target.ts';
import { servicePort } from '../../operator/workload.ts';
import { type Check, type Finding, findingOf, NotChecked, standingOn } from './check.ts';
import type { DiscoveredOperator } from './operator.ts';

/** Can each webhook Service be led elsewhere, and do its ports fit those who call it and those who listen? */
export function serviceCheck(operator: Promise<DiscoveredOperator>): Check {
  return {
    name: 'service',
    limitSeconds: 60,
    async run() {
      const { target, refusals } = await standingOn(operator, 'there is no target');
      if (target.services.length === 0) throw new NotChecked('the target has no webhook Service');
      const wrong = refusals.map(({ error }) => findingOf(error, false));
      const others = target.services.filter(
        (one) => !refusals.some(({ service }) => service === one.service),
      );
      return [...wrong, ...others.map((one) => serviceFinding(one))];
    },
  };
}

/** Pure. */
export function serviceFinding(service: TargetService): Finding {
  const { namespace, name } = service.service.metadata;
  try {
    assertTakeable(service.service);
  } catch (error) {
    if (!(error instanceof DevloopError)) throw error;
    return findingOf(error, false);
  }
  const ways = service.ports.map(({ port, targetPort }) => {
    const declared = servicePort(service.service, port)?.targetPort;
    return `${port} -> ${typeof declared === 'string' ? `${declared} (${targetPort})` : targetPort}`;
  });
  const callers = [...new Set(service.calls.map((call) => call.from))].join('\nand ') || 'nobody yet';
  const taken = sessionOf(service.service) === undefined ? '' : '; it is taken over just now';
  return {
    verdict: 'ok',
    answer: `Service ${namespace}/${name}\ncan be led here${taken}: port ${ways.join(', ')}`,
    proof: `called by ${callers}`,
  };
}
