import { DevloopError } from '../../errors.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { newSessionId } from '../context/session-directories.ts';
import { planRoutes, routeNames } from '../route/kinds.ts';
import { isOfTheRoute, openRoute } from '../route/open-route.ts';
import { routeSettings } from '../route/routing.ts';
import { verifyStep } from '../route/verify-route.ts';
import { type Check, type DoctorRun, type Finding, findingOf, NotChecked, needed } from './check.ts';
import { requireAgreement } from './consent.ts';
import { targetWithServices } from './shared-work.ts';

/** How many probes to send: several, because the first one may have to wait until kube-proxy knows the Service. */
const PROBES = 5;

/** How long to verify a route. One address alone can take 12 s. */
const VERIFY_SECONDS = 120;
/** The limit of the whole check: the time to verify a route, plus the time to delete the temporary objects. */
const LIMIT_SECONDS = 150;

/**
 * Does each route work? Returns one check per route that `up` would try.
 */
export function routeChecks({ settings }: Pick<DoctorRun, 'settings'>): Check[] {
  const names = routeNames(settings.route.value);
  const results = names.map(() => Promise.withResolvers<Finding>());
  for (const { promise } of results) promise.catch(() => {});
  return names.map((route, index) => ({
    name: `route ${route}`,
    limitSeconds: LIMIT_SECONDS,
    timeoutCode: 'route.none',
    async run(run, signal) {
      const { promise, resolve, reject } = results[index]!;
      await verifyInTime(run, route, signal).then(resolve, reject);
      const own = await promise;
      // Only a failure depends on the other routes.
      if (own.verdict !== 'fail') return own;
      return oneOfSeveral(own, await Promise.allSettled(results.map((one) => one.promise)));
    },
  }));
}

/** Gives up before the check's own time limit, so that there is time left to compare the failure with the other routes. */
async function verifyInTime(run: DoctorRun, route: string, signal: AbortSignal): Promise<Finding> {
  const deadline = AbortSignal.timeout(VERIFY_SECONDS * 1000);
  try {
    return await verifyPermitted(run, route, AbortSignal.any([signal, deadline]));
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error;
    return { verdict: 'fail', answer: `not verified within ${VERIFY_SECONDS} s`, code: 'route.none' };
  }
}

/** A route that does not work is no problem as long as another one works, and `up` goes on to that one. */
export function oneOfSeveral(finding: Finding, all: PromiseSettledResult<Finding>[]): Finding {
  const works = all.some((one) => one.status === 'fulfilled' && one.value.verdict === 'ok');
  const endsUp = finding.code !== undefined && !isOfTheRoute(finding.code);
  if (finding.verdict !== 'fail' || !works || endsUp) return finding;
  const { code: _, ...shown } = finding;
  return { ...shown, verdict: 'info', answer: `not needed: another route works\n${finding.answer}` };
}

async function verifyPermitted(run: DoctorRun, route: string, signal: AbortSignal): Promise<Finding> {
  const target = await probeTarget(run);
  const asked = (await run.permissions).routes.find((one) => one.plan.name === route);
  if (asked !== undefined && asked.lacking.length > 0)
    throw new NotChecked('the account lacks permissions for this route');
  return await verify(run, target, route, signal);
}

const WRITES =
  'this check creates temporary objects in the cluster. A person can run it in a terminal: devloop doctor';

/** The target, in whose namespaces probes create temporary objects. Throws NotChecked if the user has not agreed to that, or the account is not allowed to. */
export async function probeTarget(
  run: Pick<DoctorRun, 'operator' | 'permissions' | 'consent' | 'io'>,
): Promise<Target> {
  if (run.io.forAgent) throw new NotChecked(WRITES);
  const { target } = await targetWithServices(run);
  await requireAgreement(run);
  const { lacking } = await needed(run.permissions, 'the permissions are not known');
  const missing = verifyStep(target).permissions.filter(({ kind, verb, namespace }) =>
    lacking.some((one) => one.kind === kind && one.verb === verb && one.namespace === namespace),
  );
  if (missing.length > 0) throw new NotChecked('the account is not allowed to create the probe');
  return { ...target, services: target.services.map(withSomePort) };
}

/** The probe uses a Service that devloop creates, so any port will do if the user's ports are wrong. */
function withSomePort(service: TargetService): TargetService {
  return service.ports.length > 0
    ? service
    : { ...service, ports: [{ name: '', port: 443, targetPort: 443 }] };
}

/** The temporary objects are gone when this returns or throws. */
async function verify(run: DoctorRun, target: Target, route: string, signal: AbortSignal): Promise<Finding> {
  const opened = await run.context;
  const settings = routeSettings(run.settings);
  const plans = planRoutes(target, settings).filter(({ name }) => name === route);
  const events: DevloopEvent[] = [];
  try {
    await using _ = await openRoute(
      {
        api: opened.api,
        // Routes are verified in parallel. Each has an id of its own, so that it does not touch the others' temporary objects.
        sessionId: newSessionId(),
        target,
        settings,
        env: run.io.env,
        ask: run.io.ask,
        emit: (event) => events.push(event),
        signal,
        probes: PROBES,
      },
      plans,
    );
    return routeFinding(events);
  } catch (error) {
    if (error instanceof DevloopError && error.code === 'service.unsupported')
      throw new NotChecked('the Service cannot be redirected by any route');
    return findingOf(error);
  }
}

export function routeFinding(events: DevloopEvent[]): Finding {
  const verified = events.find((event) => event.type === 'route.verified');
  if (verified === undefined) throw new Error('the route was opened without being verified');
  const found = events.find((event) => event.type === 'discovered' && event.what === 'address');
  const source = found?.type === 'discovered' ? [`the address ${found.source}`] : [];
  return {
    verdict: 'ok',
    answer: `the cluster reaches this machine at ${verified.address}`,
    proof: [
      `${PROBES} probes by kube-apiserver were answered here`,
      ...source,
      'the time is that of one probe, over a new connection',
    ],
    latencyMs: verified.latencyMs,
  };
}
