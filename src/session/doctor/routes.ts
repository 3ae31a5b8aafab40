import type { Target, TargetService } from '../../cluster/discover.ts';
import { neededFor } from '../../cluster/permissions.ts';
import { DevloopError } from '../../errors.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { namespacesOf } from '../holders.ts';
import { openRoute } from '../take-over.ts';
import { type Check, type Finding, findingOf, NotChecked, standingOn } from './check.ts';
import type { Case, Patient } from './patient.ts';
import type { Rights } from './rights.ts';

/** One way from the cluster to this machine, and the proof of it. */
export interface RouteCheck {
  name: string;
  /** Temporary objects that it makes carry the mark of the case, and are gone when it returns or throws. */
  prove(target: Target, signal: AbortSignal): Promise<Finding>;
}

/** Each address may take 15 s until the probe gives it up. */
const LIMIT_SECONDS = 120;

export function routeChecks(theCase: Case, patient: Promise<Patient>, rights: Promise<Rights>): Check[] {
  return [directCheck(theCase)].map(({ name, prove }) => ({
    name: `route ${name}`,
    limitSeconds: LIMIT_SECONDS,
    late: 'route.none' as const,
    async run(signal: AbortSignal) {
      const target = await probeTarget(patient, rights);
      return await prove(target, signal);
    },
  }));
}

/** What probes need: a namespace for their temporary objects, and the rights to make them. */
export async function probeTarget(patient: Promise<Patient>, rights: Promise<Rights>): Promise<Target> {
  const { target } = await standingOn(patient, 'there is no target');
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

function directCheck({ opened, options, session }: Case): RouteCheck {
  const { api, config } = opened;
  const wanted = { address: options.address ?? config.address, port: options.port ?? config.port };
  return {
    name: 'direct',
    async prove(target, signal) {
      const told: DevloopEvent[] = [];
      try {
        await using _ = await openRoute(api, session, target, wanted, (event) => told.push(event), signal);
        return routeFinding(told);
      } catch (error) {
        if (error instanceof DevloopError && error.code === 'service.unsupported')
          throw new NotChecked('the Service cannot be led here by any way');
        if (error instanceof DevloopError) return findingOf(error, false);
        throw error;
      }
    },
  };
}

/** Pure. */
export function routeFinding(told: DevloopEvent[]): Finding {
  const proven = told.find((event) => event.type === 'route.proven');
  const address = told.find((event) => event.type === 'discovered' && event.what === 'address');
  if (proven === undefined || address?.type !== 'discovered') throw new Error('a route without its proof');
  return {
    verdict: 'good',
    answer: `kube-apiserver reaches this machine at ${address.value}`,
    proof: `it asked a gateway here through a temporary Service, and got its nonce back; the address ${address.source}`,
    latencyMs: proven.latencyMs,
  };
}
