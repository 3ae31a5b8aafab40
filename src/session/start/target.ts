import type { CheckoutFacts } from '../../checkout/facts.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { isForbidden } from '../../cluster/api/errors.ts';
import { refOf } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { mayDoEverything } from '../../cluster/api/permissions.ts';
import type { Workload } from '../../cluster/api/workloads.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { planUndo } from '../../cluster/marks/undo.ts';
import { pauseNotices } from '../../cluster/takeover/pause/notices.ts';
import { ownChangeOf } from '../../cluster/takeover/restore-steps.ts';
import { assertTakeable } from '../../cluster/takeover/service.ts';
import { DevloopError } from '../../errors.ts';
import { discover } from '../../operator/discover.ts';
import type { Target } from '../../operator/target.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { usableAddress } from '../../route/direct.ts';
import { checkoutFactsOf } from '../context/context.ts';
import {
  type InTheWay,
  sessionsInTheWay,
  takenObjects,
  withoutPausedReconcilers,
} from '../context/holders.ts';
import { inNamedNamespaces, namespaceOf } from '../context/namespaces.ts';
import { brokenUndo } from '../end/unfinished.ts';
import { type RouteSettings, routeSettings } from '../route/routing.ts';
import { alsoPause, isCreatorPaused, pausedBy, planPause } from './pause.ts';
import { askPermissions, permittedRoutes, untriedRoutes } from './permissions.ts';
import { planAnyTakeOver, planTakeOver } from './plan.ts';
import { requireSelectors } from './selectorless.ts';
import { reportServedApis } from './served-apis.ts';
import type { PlannedTakeOver, UpCommand } from './session.ts';
import { permittedStandIn } from './stand-in.ts';
import { assertNoWebhooks, requireRunnable, withoutWebhooks } from './undeployed.ts';

/** Discovers what to take over, and checks everything that can be checked without a write. Changes nothing. */
export async function discoverTarget(command: UpCommand): Promise<PlannedTakeOver & { inTheWay: InTheWay }> {
  const { context, options, io, machine } = command;
  const { api } = context;
  const settings = routeSettings(context.settings, options);
  const facts = withoutWebhooks(checkoutFactsOf(context), options);
  // Runs during the discovery.
  const everything = mayDoEverything(api);
  const observer = { api, emit: io.emit, signal: io.signal };
  const found = await inNamedNamespaces(context, lookUp(command, settings, facts, io.emit));
  const target = await withoutPausedReconcilers(observer, found, machine);
  assertAllTakeable(target, settings);
  await requireSelectors(api, target, { ...settings, adopt: options.adopt });
  assertNoWebhooks(target, options);
  if (target.services.length === 0 && target.manager === undefined) {
    await requireRunnable(context, await facts, options);
    io.emit(notice('session.alone', {}));
  }
  const choice = context.settings.pause.value;
  const plan = planTakeOver(target, settings, await planPause(observer, target, choice), options.debug);
  reportServedApis(target, choice, io.emit);
  const { manager } = target;
  const noticing = manager && choice === 'auto' ? pauseNotices(api, manager, isCreatorPaused(target)) : [];
  const looking = sessionsInTheWay(observer, target, machine, options.takeOver);
  // Missing permissions are reported first; until then, a failure must not count as unhandled.
  looking.catch(() => {});
  const [allowed, notices] = await Promise.all([askPermissions(api, plan, everything), noticing]);
  plan.routes = permittedRoutes(api, allowed);
  // A process that the user starts does not get the stand-in's name.
  plan.standIn = options.controller ? await permittedStandIn(api, plan.standIn, io.emit) : [];
  for (const one of notices) if (one.mayResume) io.emit(one.note);
  for (const one of untriedRoutes(allowed)) io.emit(one);
  const inTheWay = await looking;
  assertRestorable(api.context, target);
  return { target, plan, facts: await facts, inTheWay };
}

/** Discovers the operator for a run that takes nothing over, and so needs no permission to do that. */
export async function discoverOnly(command: UpCommand): Promise<PlannedTakeOver> {
  const { context, options, io } = command;
  const settings = routeSettings(context.settings, options);
  const facts = await withoutWebhooks(checkoutFactsOf(context), options);
  const target = await inNamedNamespaces(context, lookUp(command, settings, facts, io.emit));
  if (target.services.length === 0 && target.manager === undefined)
    await requireRunnable(context, facts, options);
  const plan = planTakeOver(target, settings, [], undefined);
  return { target, facts, plan: { ...plan, routes: [], standIn: [] } };
}

/** The target after other sessions were restored: its objects have changed, its routes have not. */
export async function discoverAgain(command: UpCommand, before: PlannedTakeOver): Promise<PlannedTakeOver> {
  const { context, options, io } = command;
  const settings = routeSettings(context.settings, options);
  const target =
    (await readAgain(context.api, before.target)) ??
    (await lookUp(command, settings, before.facts, () => {}));
  // A dead session may have adopted a Service.
  await requireSelectors(context.api, target, { ...settings, adopt: options.adopt });
  const permitted = before.plan.routes.map(({ name }) => name);
  const observer = { api: context.api, emit: io.emit, signal: io.signal };
  const pause = await planPause(observer, target, context.settings.pause.value, true);
  const plan = planTakeOver(target, settings, pause, options.debug);
  plan.routes = plan.routes.filter(({ name }) => permitted.includes(name));
  if (before.plan.standIn.length === 0) plan.standIn = [];
  return { ...before, target, plan };
}

/** The same objects as they are now; undefined if one of them is gone. */
async function readAgain(
  api: ClusterApi,
  { services, manager, reconcilers = [], ...rest }: Target,
): Promise<Target | undefined> {
  const [object, reconciling, ...found] = await Promise.all([
    manager && api.get<Workload>(manager.ref),
    Promise.all(reconcilers.map(async (one) => ({ ...one, object: await api.get<Workload>(one.ref) }))),
    ...services.map(({ service }) => api.get<Service>(refOf('Service', service.metadata))),
  ]);
  const again = services.flatMap((one, index) => {
    const service = found[index];
    return service ? [{ ...one, service }] : [];
  });
  if (again.length < services.length || (manager && !object)) return undefined;
  const container = object?.spec.template.spec.containers.find(
    ({ name }) => name === manager?.container.name,
  );
  if (manager && !container) return undefined;
  return {
    ...rest,
    services: again,
    reconcilers: reconciling.flatMap(({ object: now, ...one }) => (now ? [{ ...one, object: now }] : [])),
    ...(manager && object && container ? { manager: { ...manager, object, container } } : {}),
  };
}

/** Discovers the target. If that is forbidden, the error lists all missing permissions and not only the first. */
async function lookUp(
  { context, options }: UpCommand,
  settings: RouteSettings,
  facts: CheckoutFacts | Promise<CheckoutFacts>,
  emit: Emit,
): Promise<Target> {
  const { api, wanted } = context;
  try {
    const { deployments } = options;
    const names = { ...wanted, deployments, alsoPause: alsoPause(context) };
    const isAlone = options.embedded !== undefined;
    return pausedBy(context.settings.pause.value, await discover({ api, names, facts, emit, isAlone }));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const named = namespaceOf(wanted);
    const plan = planAnyTakeOver(named ?? api.namespace, settings, options.debug);
    permittedRoutes(api, await askPermissions(api, plan), named === undefined);
    throw error;
  }
}

function assertAllTakeable({ services }: Target, { choice, address: named }: RouteSettings): void {
  const address = choice === 'relay' ? undefined : named;
  if (address !== undefined) usableAddress(address);
  for (const { service } of services) assertTakeable(service, address);
}

/**
 * The changes of a dead session are restored before anything else. If an undo cannot be carried out, `up` does not begin: the object keeps
 * its mark, so it could not be taken over.
 */
function assertRestorable(context: string, target: Target): void {
  for (const { ref, object } of takenObjects(target)) {
    const own = ownChangeOf(ref.kind);
    if (own === undefined || object === undefined || sessionOf(object) === undefined) continue;
    const plan = planUndo(object, own);
    if (!('fault' in plan)) continue;
    const { message, hint } = brokenUndo(context, ref, plan);
    throw new DevloopError('undo.incomplete', message, { hint });
  }
}
