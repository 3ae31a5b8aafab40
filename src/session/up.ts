import { allDone, allOrNone } from '../async.ts';
import type { ObjectRef } from '../cluster/api/kinds.ts';
import type { KubeObject } from '../cluster/api/objects.ts';
import type { Pausing } from '../cluster/takeover/pause/pause.ts';
import type { Work } from '../cluster/work.ts';
import { noticeRepeatedErrors } from '../controller/repeated-errors.ts';
import { type ControllerPlan, createSupervisor } from '../controller/supervisor.ts';
import { removeLocalFiles } from '../local/key-pair-files.ts';
import type { KeyPairs } from '../local/key-pairs.ts';
import type { WebhookCall } from '../operator/webhooks.ts';
import type { Emit } from '../report/events.ts';
import { stampOf } from '../reviews/answering.ts';
import { type Answered, createAnswered } from './answered.ts';
import { openContext } from './context/context.ts';
import { targetsOf } from './context/holders.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { thisMachine } from './context/local-machine.ts';
import type { Io, UpOptions } from './context/options.ts';
import { claimDirectory, endOrphans, newSessionId } from './context/session-directories.ts';
import { type Controlled, createControl } from './control/control.ts';
import { createControllerLog } from './control/controller-log.ts';
import { offerControl } from './control/offer.ts';
import { endUp, type Standing } from './end/end-up.ts';
import { outcomeOf } from './end/outcome.ts';
import { noticeUninstall } from './guard/callers.ts';
import { startGuard } from './guard/guard.ts';
import type { Guarded } from './guard/react.ts';
import { createPage } from './page.ts';
import { cutOver, followReconnects } from './route/cut-over.ts';
import { ownAnswers } from './route/gateways.ts';
import { openRoute } from './route/open-route.ts';
import { followPaths } from './route/paths.ts';
import { type Routing, routeSettings } from './route/routing.ts';
import { createServedGate } from './route/served.ts';
import { serve } from './serve.ts';
import { localFilesOf, prepareLocally } from './start/controller.ts';
import type { SessionDebugger } from './start/debugger.ts';
import { printPlan } from './start/dry-run.ts';
import { followManager } from './start/follow-manager.ts';
import { createSessionLeases, type SessionLeases } from './start/leases.ts';
import { recoverSessions } from './start/recover.ts';
import type { Session, UpCommand } from './start/session.ts';
import { discoverTarget } from './start/target.ts';

/** Takes the operator over, serves it from this machine until the signal aborts, and restores everything. */
export async function up(options: UpOptions, io: Io): Promise<void> {
  const startedAt = performance.now();
  await using context = await openContext(options, io);
  const machine = await thisMachine(io.env);
  const command: UpCommand = { startedAt, context, options, io, machine };
  const discovered = await unlessInterrupted(discoverTarget(command), io.signal);
  if (options.dryRun) return await printPlan(command, discovered);
  const found = await recoverSessions(command, discovered);
  await endOrphans(machine, io.emit);
  const sessionId = newSessionId();
  const directory = await claimDirectory(machine, sessionId, context.root);
  const session: Session = { ...command, ...found, sessionId, files: localFilesOf(directory, command) };
  const targets = targetsOf(session.target);
  io.emit({ type: 'session.started', session: sessionId, context: context.api.context, targets });
  try {
    await run(session);
  } finally {
    await removeLocalFiles(directory);
  }
}

/** A session while it runs. */
interface Running {
  session: Session;
  work: Work;
  leases: SessionLeases;
  answered: Answered;
  /** What `endUp` takes down again; filled step by step. */
  standing: Standing;
  /** What reacts to the cluster and the route until the end. */
  followers: AsyncDisposableStack;
  /** What writes to the user's objects: it has ended before they are restored. */
  writers: AsyncDisposableStack;
  /** Ends the session: when a Lease is lost, or one of several steps that run side by side fails. */
  ending: AbortController;
}

async function run(session: Session): Promise<void> {
  const { context, options, sessionId, target, io } = session;
  await using followers = new AsyncDisposableStack();
  const writers = new AsyncDisposableStack();
  const ending = new AbortController();
  const leases = followers.use(createSessionLeases(target));
  const errors = followers.use(noticeRepeatedErrors(io.emit));
  const log = createControllerLog(options.controllerLog ?? context.config.controller?.log ?? 'all');
  // All events pass through here: they are printed, and the Leases and the page show what they say about the session.
  const emit: Emit = (event) => {
    if (log.shows(event)) io.emit(event);
    leases.observe(event);
    errors.observe(event);
    answered.observe(event);
    control.observe(event);
    page.observe(event);
  };
  const signal = AbortSignal.any([io.signal, ending.signal]);
  const work: Work = { api: context.api, sessionId, emit, signal };
  const answered = followers.use(createAnswered(session, work));
  const { recorder } = answered;
  const standing: Standing = { mayHaveChanged: false, recorder };
  const controlled = controlledOf(standing, answered);
  const control = createControl({ session: sessionId, controlled, emit, signal });
  const page = followers.use(createPage(session, work, { control, recorder }));
  if (options.open) void page.open();
  const { directory } = session.files;
  followers.use(await offerControl({ control, log, emit, openPage: page.open }, { directory, io }));
  const running: Running = { session, work, leases, answered, standing, followers, writers, ending };
  const failure = await takeOver(running).then(
    () => undefined,
    // What ended the session, not what a wait says about being interrupted.
    (error) => ({ error: ending.signal.aborted ? ending.signal.reason : error }),
  );
  ending.abort();
  await writers.disposeAsync();
  const isInterrupted = io.signal.aborted;
  const reason = isInterrupted ? String(io.signal.reason ?? 'interrupted') : failure ? 'it failed' : 'ended';
  const isFailure = failure !== undefined && !isInterrupted;
  const restoring = await endUp(work, target, standing, { reason, isFailure }).then(
    () => undefined,
    (error) => ({ error }),
  );
  const outcome = outcomeOf({ failure, restoring, mayHaveChanged: standing.mayHaveChanged, isInterrupted });
  if (outcome.warning) emit(outcome.warning);
  if (outcome.failure) throw outcome.failure.error;
}

function controlledOf(standing: Standing, { facts, replay }: Answered): Controlled {
  return {
    gateways: () => standing.route?.gateways,
    supervisor: () => standing.supervisor,
    replaying: facts,
    replay,
  };
}

/** docs/architecture.md explains the order. Each step labels what it changes, and `endUp` restores that. */
async function takeOver(running: Running): Promise<void> {
  const { session, work, leases, standing, ending } = running;
  const { emit, signal } = work;
  const { target } = session;
  const { pairs, keyPairDirectories, controller: planned } = await prepareLocally(session);
  const debug = planned && (await debuggerFor(session, planned, work));
  standing.debug = debug;
  const controller = planned && { ...planned, debugging: debug?.debugging };
  const supervisor = controller && createSupervisor(controller, { emit, signal });
  standing.supervisor = supervisor;
  standing.mayHaveChanged = true;
  const onManager = followManager(session, work, { pairs, controller, supervisor });
  const guarded = guardedObjects(running, onManager);
  running.writers.use(startGuard(work, guarded, (error) => ending.abort(error)));
  await allOrNone([holdAndOpen(running), supervisor?.build() ?? Promise.resolve()], ending);
  // Somebody may have run `devloop down` in the meantime.
  await leases.renew();
  signal.throwIfAborted();
  const { route } = standing;
  const gate = route && controller && createServedGate({ work, target, ...controller, ...route, ...debug });
  const start = async (): Promise<void> => {
    await supervisor?.start();
    await gate?.requireServed();
    await debug?.settled();
  };
  for (const { apply } of session.plan.webhookTime) await apply(work);
  const pausing = await replaceManager(running, { point: () => pointServices(running, pairs), start });
  route?.gateways.release();
  const ended = await Promise.all(pausing.map((one) => one.ended));
  if (ended.includes(false)) emit({ type: 'warning', message: STILL_TERMINATING });
  if (route) await leases.announce(route.route);
  await serve(session, { work, pairs, keyPairDirectories, route, supervisor, gate: gate ?? debug?.gate });
  ending.signal.throwIfAborted();
}

/** Loaded where it is asked for only. */
async function debuggerFor(
  { options }: Session,
  controller: ControllerPlan,
  work: Work,
): Promise<SessionDebugger | undefined> {
  if (options.debug === undefined) return undefined;
  const { openDebugger } = await import('./start/debugger.ts');
  const { findDelve } = await import('../debugger/find-delve.ts');
  return await openDebugger(options.debug.port, await findDelve(controller.cwd, work.signal), work);
}

/**
 * Pauses the manager, starts the controller, and points the Services here, in this order if the manager's Pods stay up: until they are
 * idle, they answer. Otherwise the Services come first, and reviews wait.
 */
async function replaceManager(
  { session, work, standing, ending }: Running,
  { point, start }: Record<'point' | 'start', () => Promise<void>>,
): Promise<Pausing[]> {
  const { target, plan, sessionId } = session;
  const { route } = standing;
  const answersUntilIdle = plan.pause.some(({ answersReviews }) => answersReviews);
  if (!answersUntilIdle) await point();
  // The operator's own webhook may review this change, and its controller does not run yet.
  using _answering = route?.gateways.answerOwn(ownAnswers(target, sessionId));
  const pausing = await Promise.all(plan.pause.map((step) => step.apply(work)));
  standing.pausing = pausing;
  for (const { lost } of pausing) void lost?.then((error) => ending.abort(error));
  await allDone(pausing.map(({ idle }) => idle));
  const started = start();
  if (answersUntilIdle) await allOrNone([started, point()], ending);
  // Starting the controller takes longer than it takes until the in-cluster Pods start to terminate. If it fails, the cluster is restored at once.
  await allOrNone([...pausing.map(({ terminating }) => terminating), started], ending);
  return pausing;
}

/** When a Service is written again, its endpoints have to follow, as they did at first. */
function guardedObjects(
  { session, work, standing }: Running,
  onManager: NonNullable<Guarded['onObject']>,
): Guarded[] {
  // The operator's own webhook may review what the guard writes, and its controller may be down, or at a breakpoint.
  const answerOwn = (): Disposable | undefined =>
    standing.route?.gateways.answerOwn(ownAnswers(session.target, session.sessionId));
  return session.plan.guarded.map((guarded) => {
    if (guarded.isOptional) return guarded;
    if (guarded.ref.kind !== 'Service') return { ...guarded, answerOwn, onObject: onManager };
    const again = async (): Promise<void> => {
      const { route } = standing;
      const point = route?.plan.point.find(({ service }) => isOf(service.service, guarded.ref));
      if (route && point) await point.apply(work, route);
    };
    return { ...guarded, answerOwn, again };
  });
}

function isOf({ metadata }: KubeObject, ref: ObjectRef): boolean {
  return metadata.name === ref.name && metadata.namespace === ref.namespace;
}

const STILL_TERMINATING =
  'A Pod of the in-cluster manager is still terminating; kube-apiserver may keep calling it over open connections.';

async function holdAndOpen(running: Running): Promise<void> {
  const { session, work, leases, standing, writers, ending } = running;
  await leases.hold(session, work, (error) => ending.abort(error));
  // While the operator's own webhooks answer in the cluster; the controller will read it as soon as it starts.
  for (const { apply } of session.plan.standIn) writers.use(await apply(work));
  if (session.target.services.length > 0)
    standing.route = await openRoute(routingOf(running), session.plan.routes);
}

async function pointServices(running: Running, pairs: KeyPairs): Promise<void> {
  const { session, work, answered, standing, followers, ending } = running;
  const { route } = standing;
  if (route === undefined) return;
  const routing = routingOf(running);
  const noticed = noticeUninstall(work, (error) => ending.abort(error));
  const onCalls = (calls: WebhookCall[]): void => {
    answered.recorder.name(calls);
    noticed(calls);
  };
  followers.use(followPaths(work, session.target, { gateways: route.gateways, onCalls }));
  const cuttingOver = cutOver(routing, route, pairs);
  followers.use(followReconnects(routing, route, cuttingOver));
  await cuttingOver;
}

function routingOf({ session, work, answered }: Running): Routing {
  const { recorder, answering } = answered;
  const { context, target, options, io } = session;
  const settings = routeSettings(options, context);
  const stamp = options.stamp ? () => stampOf(answering.now()) : undefined;
  const onTimeout = options.onTimeout ?? context.config.onTimeout;
  // At a breakpoint, stepping goes on when devloop has answered.
  const late = options.debug ? recorder.late : undefined;
  const { served } = recorder;
  return { ...work, target, settings, env: io.env, ask: io.ask, served, late, stamp, onTimeout };
}
