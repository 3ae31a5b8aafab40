import { allDone, allOrNone, reportWhileWaiting, sleep } from '../async.ts';
import { type ObjectRef, refOf } from '../cluster/api/kinds.ts';
import type { KubeObject } from '../cluster/api/objects.ts';
import type { PausingManager } from '../cluster/takeover/pause/pause.ts';
import { ENDED_SECONDS } from '../cluster/takeover/pause/waits.ts';
import type { Work } from '../cluster/work.ts';
import { createSupervisor, type Supervisor } from '../controller/supervisor.ts';
import type { CrdFields } from '../operator/crd-fields.ts';
import type { Target, TargetService } from '../operator/target.ts';
import { describe } from '../report/object-name.ts';
import { namingSession } from './context/controller-port.ts';
import { targetsOf } from './context/holders.ts';
import { watchedPointer } from './guard/endpoints.ts';
import { type GuardedScope, startGuard } from './guard/guard.ts';
import { watchedSlices } from './guard/late-slices.ts';
import { type GuardedObject, watchedObject } from './guard/react.ts';
import { noticeUninstall } from './guard/uninstall.ts';
import { ChangedBundles, followRenewals } from './renewals.ts';
import { type CutOver, cutOver, followReconnects } from './route/cut-over.ts';
import { type ChosenRoute, openRoute } from './route/open-route.ts';
import { followPaths } from './route/paths.ts';
import { routePointers } from './route/point.ts';
import { createServedGate, type ServedGate } from './route/served-gate.ts';
import { routeWorkOf } from './route-work.ts';
import type { Guest, RunningSession } from './running.ts';
import { serve } from './serve.ts';
import { type LocalParts, prepareLocally } from './start/controller.ts';
import type { SessionDebugger } from './start/debugger.ts';
import { followElection } from './start/election.ts';
import { followManager } from './start/follow-manager.ts';
import { endedPods, followOldPods } from './start/old-pods.ts';
import { createReplanning } from './start/replan.ts';
import type { Session } from './start/session.ts';
import { lateUid } from './start/stand-in.ts';
import { openStarts } from './start/starts.ts';

/** From step 4 of "Order of `up`" in docs/architecture.md to its end. Each step labels what it changes, and `endUp` restores that. */
export async function takeOver(session: RunningSession): Promise<void> {
  const { work, leases, standing, ending, target, moved } = session;
  const { emit, signal } = work;
  const starts = await openStarts(session);
  const { settled, before } = settleIdentity(session);
  const [parts] = await Promise.all([prepareLocally(session, starts?.access), before]);
  const { pairs, keyPairDirectories, controller: planned, dlv, kubeconfig } = parts;
  const debug = dlv === undefined ? undefined : await debuggerOf(session, dlv, work);
  standing.debug = debug;
  const late = [lateUid(session), ...(starts ? [starts.late] : [])];
  const upToDate = session.prepared?.upToDate;
  const election = followElection(work, {
    endedPods: () => endedPods(standing.pausing),
    begin: starts?.begin,
  });
  standing.election = election;
  const controller = planned && { ...planned.plan, late, upToDate, debugging: debug?.debugging, election };
  const supervisor = controller && createSupervisor(controller, { emit, signal });
  standing.supervisor = supervisor;
  await supervisor?.prepare();
  // By now, everything that can be checked before a write has been checked.
  announceStart(session);
  const dependent = { pairs, proxy: starts?.access, planned, supervisor };
  const replanning = session.followers.use(createReplanning(session, work, dependent));
  const watched = guardedObjects(session, followManager(work, replanning));
  session.writers.use(startGuard(work, watched, (error) => ending.abort(error)));
  // Steps 5 and 6. The go tool starts first: the calls to the cluster keep this process busy for a while.
  await allOrNone([firstBuild(session), holdAndOpen(session), settled], ending);
  supervisor?.standBy();
  // Somebody may have run `devloop down` in the meantime.
  await leases.renew();
  signal.throwIfAborted();
  const { route } = standing;
  const gate =
    route && controller && createServedGate({ work, target, moved, ...controller, ...route, ...debug });
  const start = async (): Promise<void> => {
    await started(session, supervisor, controller?.webhook?.port);
    await gate?.requireServed();
    await debug?.settled();
  };
  await pauseReconcilers(session);
  for (const { apply } of session.plan.webhookTime) await apply(work);
  const pausing = await replaceManager(session, {
    point: (isCalm) => pointServices(session, { pairs, keyPairDirectories }, { gate, isCalm }),
    start,
  });
  if (route) await leases.announce(route.route);
  await announceReady(session, pausing);
  const serving = serve(session, {
    ...{ work, pairs, kubeconfig, supervisor, replanning },
    gate: gate ?? debug?.gate,
  });
  await (session.guest ? attended(session, session.guest, serving) : serving);
  ending.signal.throwIfAborted();
}

/** `before`: what a change to the cluster waits for. Nothing waits in a server of the session's own, which may still be creating the roles of accounts. */
function settleIdentity({ identity, options }: RunningSession) {
  const settled = identity.settle();
  settled.catch(() => {});
  return { settled, before: options.embedded ? undefined : settled };
}

/** What the guest has started has ended before anything is restored. */
async function attended(session: RunningSession, guest: Guest, serving: Promise<void>): Promise<void> {
  const attending = guest.attend(session);
  await Promise.race([serving, attending]).catch((error) => session.ending.abort(error));
  await attending;
}

function announceStart({ work, sessionId, context, target, standing, options }: RunningSession): void {
  const targets = targetsOf(target);
  work.emit({ type: 'session.started', session: sessionId, context: context.api.context, targets });
  standing.mayHaveChanged = !options.embedded;
}

/** Another session can have taken the port during the build. */
async function started({ machine }: Session, supervisor?: Supervisor, port?: number): Promise<void> {
  await supervisor?.start().catch((error) => namingSession(error, port, machine));
}

/** Reviews are answered here now. The end of Pods that can only be called over old connections is announced later. */
async function announceReady(session: RunningSession, pausing: PausingManager[]): Promise<void> {
  const { work, sessionId, startedAt, target, options } = session;
  const pods = followOldPods(work, pausing);
  const count = await pods.count();
  const old = count > 0 ? { oldPods: count } : {};
  const event = { session: sessionId, ...old };
  const isAlone = target.services.length === 0 && target.manager === undefined;
  const alone = options.embedded ? { embedded: true as const } : isAlone ? { alone: true as const } : {};
  work.emit({ type: 'session.ready', ms: performance.now() - startedAt, ...alone, ...event });
  void pods.gone().then((areGone) => {
    if (areGone) work.emit({ type: 'manager.gone', ms: performance.now() - startedAt, ...event });
  });
}

/** At a terminal, somebody is there to mend a first build that fails. */
async function firstBuild({ io, options, standing }: RunningSession): Promise<void> {
  const { supervisor } = standing;
  const ifItFails = io.ask !== undefined && !options.failFast ? 'wait' : 'throw';
  await Promise.all([supervisor?.build(ifItFails), supervisor?.lookFirst()]);
}

/** The debugger's module is loaded only if it is needed. */
async function debuggerOf({ options }: Session, dlv: string, work: Work): Promise<SessionDebugger> {
  const { openDebugger } = await import('./start/debugger.ts');
  return await openDebugger(options.debug!.port, dlv, work);
}

/**
 * Steps 7 to 10: pauses the manager, starts the controller, and points the Services here. That is the order if the manager's Pods stay up, since they
 * answer until they are idle. Otherwise the Services are pointed here first, and reviews wait.
 */
async function replaceManager(
  { plan, work, standing, ending }: RunningSession,
  { point, start }: { point(isCalm: Promise<void>): Promise<CutOver>; start(): Promise<void> },
): Promise<PausingManager[]> {
  const { route } = standing;
  const answersUntilIdle = plan.pause.some(({ answersReviews }) => answersReviews);
  // The operator's own webhooks may review the probes and the pause, and its controller does not run yet.
  using _answering = route?.gateways.answerConsequences();
  const calm = Promise.withResolvers<void>();
  // Finds out what to watch now, so that devloop notices at once a file that is saved as soon as `up` is ready.
  void calm.promise.then(() => standing.supervisor?.lookAhead());
  const pointed = answersUntilIdle ? undefined : await point(calm.promise);
  const pausing = await Promise.all(plan.pause.map((step) => step.apply(work)));
  standing.pausing = [...(standing.pausing ?? []), ...pausing];
  for (const { lost } of pausing) void lost?.then((error) => ending.abort(error));
  await allDone(pausing.map(({ idle }) => idle));
  const pointing = pointed ? Promise.resolve(pointed) : point(calm.promise);
  // Reviews do not wait for the end of Pods that are no longer called.
  const released = allOrNone<unknown>([start(), pointing], ending).then(() => {
    route?.gateways.release();
    void sleep(HELD_FIRST_MS, work.signal).then((isOver) => isOver && calm.resolve());
  });
  // If the controller fails to start, the cluster is restored at once.
  const cleared = pointing.then((done) => done.cleared);
  await allOrNone([...pausing.map(({ terminating }) => terminating), released, cleared], ending);
  calm.resolve();
  return pausing;
}

/** They have to stop before devloop changes what they would write again. */
async function pauseReconcilers({ plan, work, standing }: RunningSession): Promise<void> {
  const pausing = await allDone(plan.reconcilers.map((step) => step.apply(work)));
  standing.pausing = pausing;
  const ended = allDone(pausing.map((one) => one.ended));
  const what = { for: 'the Pods of what would write the operator again to end', limitSeconds: ENDED_SECONDS };
  await reportWhileWaiting(ended, what, work.emit);
  work.signal.throwIfAborted();
}

/** The held reviews are answered first: the rest of the work can wait this long. */
const HELD_FIRST_MS = 150;

/** The objects for the guard. When the guard writes a Service again, it has to write the endpoints again, too, as in the cut-over. */
function guardedObjects(
  { plan, target, work, standing, sessionId }: RunningSession,
  onManager: NonNullable<GuardedObject['onObject']>,
): GuardedScope[] {
  const withReaction = (guarded: GuardedObject): GuardedObject => {
    if (guarded.isOptional) return guarded;
    if (isManager(guarded.ref, target)) return { ...guarded, onObject: onManager };
    if (guarded.ref.kind !== 'Service') return guarded;
    const again = async (): Promise<void> => {
      const { route } = standing;
      const point = route?.plan.point.find(({ service }) => isOf(service.service, guarded.ref));
      if (route && point) await point.apply(work, route);
    };
    return { ...guarded, again };
  };
  return plan.guarded.map((one) => watchedObject(withReaction(one), sessionId));
}

function isManager(ref: ObjectRef, { manager }: Target): boolean {
  return manager !== undefined && describe(manager.ref) === describe(ref);
}

/** The objects that point the Services to an address; they exist after the cut-over. */
function guardedPointers({ target, sessionId }: RunningSession, route: ChosenRoute): GuardedScope[] {
  return target.services.flatMap((service) => {
    const ref = refOf('Service', service.service.metadata);
    const pointers = routePointers(route, service, sessionId);
    return pointers.map((pointer) => watchedPointer({ ...pointer, service: ref }));
  });
}

/** The slices that Kubernetes' controllers wrote, which the cut-over empties; none if they are to write the endpoints. */
function guardedSlices({ services }: Target, { route }: ChosenRoute): GuardedScope[] {
  return 'address' in route.target ? services.map(({ service }) => watchedSlices(service)) : [];
}

function isOf({ metadata }: KubeObject, ref: ObjectRef): boolean {
  return metadata.name === ref.name && metadata.namespace === ref.namespace;
}

async function holdAndOpen(session: RunningSession): Promise<void> {
  await session.options.embedded?.serveOnly(
    session.target.services.map(({ service: { metadata } }) => `${metadata.namespace}/${metadata.name}`),
  );
  const { work, leases, standing, writers, ending } = session;
  await leases.hold(session, work, (error) => ending.abort(error));
  const open = async (): Promise<void> => {
    if (session.target.services.length > 0)
      standing.route = await openRoute(routeWorkOf(session), session.plan.routes);
  };
  // The stand-in is created while the operator's own webhooks still answer in the cluster; the controller reads it as soon as it starts.
  const standIn = async (): Promise<void> => {
    for (const { apply } of session.plan.standIn) session.standIn = writers.use(await apply(work));
  };
  await allOrNone([open(), standIn()], ending);
}

async function pointServices(
  session: RunningSession,
  parts: Pick<LocalParts, 'pairs' | 'keyPairDirectories'>,
  { gate, isCalm }: { gate: ServedGate | undefined; isCalm: Promise<void> },
): Promise<CutOver> {
  const { work, answered, standing, followers, writers, ending } = session;
  const { route } = standing;
  if (route === undefined) return { cleared: Promise.resolve() };
  const routeWork = routeWorkOf(session);
  const end = (error: unknown): void => ending.abort(error);
  const noticed = noticeUninstall(work, end);
  const bundles = new ChangedBundles(session.called);
  const onCalls = (services: TargetService[]): void => {
    const calls = services.flatMap((service) => service.calls);
    answered.recorder.name(calls);
    noticed(calls);
    gate?.called(services);
    session.called = services;
    bundles.observe(services);
  };
  const onFields = (crds: CrdFields[]): void => answered.recorder.define(crds);
  followers.use(followPaths(work, session.target, { gateways: route.gateways, onCalls, onFields, isCalm }));
  const cuttingOver = cutOver(routeWork, route, parts.pairs);
  followers.use(followReconnects(routeWork, route, cuttingOver));
  writers.use(startGuard(work, guardedSlices(session.target, route), end));
  const { cleared } = await cuttingOver;
  followers.use(followRenewals(session, { ...parts, route, next: () => bundles.next }));
  writers.defer(() => cleared.catch(() => {}));
  writers.use(startGuard(work, guardedPointers(session, route), end));
  return { cleared };
}
