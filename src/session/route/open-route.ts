import { assertTakeable } from '../../cluster/takeover/service.ts';
import type { RouteChoice } from '../../config/route-choice.ts';
import { AGAIN, DevloopError, type ErrorCode } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { routeNames } from './kinds.ts';
import type { OpenRoute, RoutePlan, RouteWork } from './routing.ts';

/** Failures of one route, after which the next one is worth a try. Any other failure would occur on every route. */
const OF_THE_ROUTE = new Set(['route.none', 'route.address', 'relay.failed', 'cluster.forbidden']);

/** Whether `up` tries the next route after this error. */
export function isOfTheRoute(code: ErrorCode): boolean {
  return OF_THE_ROUTE.has(code);
}

/** The open route that the session uses, with its plan. */
export interface ChosenRoute extends OpenRoute {
  plan: RoutePlan;
}

/** Opens the first route over which kube-apiserver reaches a gateway of this machine. Changes no object of the user. */
export async function openRoute(work: RouteWork, plans: RoutePlan[]): Promise<ChosenRoute> {
  for (const { service } of work.target.services) assertTakeable(service);
  const failures: Failed[] = [];
  for (const [index, plan] of plans.entries()) {
    const next = plans[index + 1];
    try {
      return { ...(await plan.open.apply(work, next === undefined)), plan };
    } catch (error) {
      if (plans.length === 1) throw withOtherRoutes(error, work.settings.choice);
      if (!(error instanceof DevloopError && OF_THE_ROUTE.has(error.code))) throw error;
      failures.push({ plan, error });
      const values = { route: plan.name, error: error.code, cause: error.message };
      if (next !== undefined) work.emit(notice('route.next', { ...values, next: next.name }));
    }
  }
  throw none(failures);
}

interface Failed {
  plan: RoutePlan;
  error: DevloopError;
}

function none(failures: Failed[]): DevloopError {
  const tried = failures.map(
    ({ plan, error }) => `\n  ${plan.name}: ${error.message.replaceAll('\n', '\n  ')}`,
  );
  const hints = failures.flatMap(({ error }) => error.hint ?? []);
  const message = `The cluster cannot reach this machine by any route:${tried.join('')}`;
  return new DevloopError('route.none', message, {
    hint: [...hints, OVER_SSH].join('\n'),
    cause: failures.at(-1)?.error,
  });
}

const OVER_SSH = `Through an SSH host that the cluster and this machine can both reach: ${AGAIN} --route ssh:USER@HOST`;

/** The user chose a route that does not work: the error names the others. */
function withOtherRoutes(error: unknown, choice: RouteChoice): unknown {
  if (choice === 'auto' || !(error instanceof DevloopError)) return error;
  const isSsh = typeof choice !== 'string';
  if (!OF_THE_ROUTE.has(error.code) && !error.code.startsWith('ssh.')) return error;
  const others = routeNames('auto').filter((name) => name !== choice);
  const hints = others.map((name) => `By another route: ${AGAIN} --route ${shellWord(name)}`);
  const hint = [error.hint, ...hints, isSsh ? undefined : OVER_SSH].filter(Boolean).join('\n');
  return new DevloopError(error.code, error.message, { hint, cause: error });
}
