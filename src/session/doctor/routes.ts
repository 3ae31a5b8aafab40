import { neededFor } from '../../cluster/api/permissions.ts';
import { DevloopError } from '../../errors.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { namespacesOf } from '../context/holders.ts';
import { newSessionId } from '../context/session-directories.ts';
import { openRoute } from '../route/open-route.ts';
import { nameOf, type RouteSettings, routeSettings, type Way } from '../route/routing.ts';
import { type Rights, waysOf } from '../route/ways.ts';
import { type Check, type Finding, findingOf, NotChecked, standingOn } from './check.ts';
import type { DiscoveredOperator, DoctorRun } from './operator.ts';

/** Probes in a row: the first one may have waited for the proxy to learn of the Service. */
const IN_A_ROW = 5;

/** Each address may take 15 s until the probe gives it up. */
const PROVE_SECONDS = 120;
/** The same, and time to put away what was made for it. */
const LIMIT_SECONDS = 150;

export function routeChecks(
  doctorRun: DoctorRun,
  operator: Promise<DiscoveredOperator>,
  rights: Promise<Rights>,
): Check[] {
  const ways = waysOf(settingsOf(doctorRun).choice);
  const proofs = ways.map(() => Promise.withResolvers<Finding>());
  for (const { promise } of proofs) promise.catch(() => {});
  return ways.map((way, index) => ({
    name: `route ${nameOf(way)}`,
    limitSeconds: LIMIT_SECONDS,
    late: 'route.none' as const,
    async run(signal: AbortSignal) {
      const { promise, resolve, reject } = proofs[index]!;
      await inTime(signal, (until) => proveWay(doctorRun, operator, rights, way, until)).then(
        resolve,
        reject,
      );
      const own = await promise;
      // Only who failed has to know of the others.
      if (own.verdict !== 'fail') return own;
      return asOneOfSeveral(own, await Promise.allSettled(proofs.map((one) => one.promise)));
    },
  }));
}

/** A way that takes too long has failed like any other, before the check's own deadline: that would leave the others out of it. */
async function inTime(signal: AbortSignal, work: (until: AbortSignal) => Promise<Finding>): Promise<Finding> {
  const deadline = AbortSignal.timeout(PROVE_SECONDS * 1000);
  try {
    return await work(AbortSignal.any([signal, deadline]));
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error;
    return { verdict: 'fail', answer: `no proof within ${PROVE_SECONDS} s`, code: 'route.none' };
  }
}

/** A way that does not lead here stands in nobody's way while another one does. Pure. */
export function asOneOfSeveral(finding: Finding, all: PromiseSettledResult<Finding>[]): Finding {
  const works = all.some((one) => one.status === 'fulfilled' && one.value.verdict === 'ok');
  if (finding.verdict !== 'fail' || !works) return finding;
  const { code: _, ...shown } = finding;
  return { ...shown, verdict: 'info', answer: `not needed, since another way leads here\n${finding.answer}` };
}

async function proveWay(
  doctorRun: DoctorRun,
  operator: Promise<DiscoveredOperator>,
  rights: Promise<Rights>,
  way: Way,
  signal: AbortSignal,
): Promise<Finding> {
  const target = await probeTarget(operator, rights);
  const asked = (await rights).ways.find((one) => nameOf(one.way) === nameOf(way));
  if (asked !== undefined && asked.lacking.length > 0)
    throw new NotChecked('the rights to take it are missing');
  return await prove(doctorRun, target, way, signal);
}

/** What probes need: a namespace for their temporary objects, and the rights to make them. */
export async function probeTarget(
  operator: Promise<DiscoveredOperator>,
  rights: Promise<Rights>,
): Promise<Target> {
  const { target } = await standingOn(operator, 'there is no target');
  if (target.services.length === 0)
    throw new NotChecked('the target has no webhook Service, so no way here is needed');
  const { lacking } = await standingOn(rights, 'the rights are not known');
  const probing = neededFor(namespacesOf(target), { webhooks: true, deployment: false, secrets: false });
  const missing = probing.filter(({ kind, verb, namespace }) =>
    lacking.some((one) => one.kind === kind && one.verb === verb && one.namespace === namespace),
  );
  if (missing.length > 0) throw new NotChecked('the rights to probe it are missing');
  return { ...target, services: target.services.map(withSomePort) };
}

/** A probe goes over a Service of our own: where the user's ports are wrong, any port will do. */
function withSomePort(service: TargetService): TargetService {
  return service.ports.length > 0
    ? service
    : { ...service, ports: [{ name: '', port: 443, targetPort: 443 }] };
}

function settingsOf({ opened, options }: DoctorRun): RouteSettings {
  return routeSettings(options, opened);
}

/** Temporary objects that it makes carry the mark of the case, and are gone when it returns or throws. */
async function prove(doctorRun: DoctorRun, target: Target, way: Way, signal: AbortSignal): Promise<Finding> {
  const { opened, io } = doctorRun;
  const told: DevloopEvent[] = [];
  try {
    await using _ = await openRoute(
      {
        api: opened.api,
        // They run at the same time: with a mark of its own, none of them meets the temporary objects of another.
        sessionId: newSessionId(),
        target,
        settings: settingsOf(doctorRun),
        env: io.env,
        ask: io.ask,
        emit: (event) => told.push(event),
        signal,
        inARow: IN_A_ROW,
      },
      [way],
    );
    return routeFinding(told);
  } catch (error) {
    if (error instanceof DevloopError && error.code === 'service.unsupported')
      throw new NotChecked('the Service cannot be led here by any way');
    if (error instanceof DevloopError) return findingOf(error, false);
    throw error;
  }
}

/** Pure. */
export function routeFinding(told: DevloopEvent[]): Finding {
  const proven = told.find((event) => event.type === 'route.verified');
  if (proven === undefined) throw new Error('a route without its proof');
  const found = told.find((event) => event.type === 'discovered' && event.what === 'address');
  const source = found?.type === 'discovered' ? `; the address ${found.source}` : '';
  return {
    verdict: 'ok',
    answer: `leads here, by ${proven.address}`,
    proof: `kube-apiserver was answered ${IN_A_ROW} times in a row${source}; time of the last one, over a new connection`,
    latencyMs: proven.latencyMs,
  };
}
