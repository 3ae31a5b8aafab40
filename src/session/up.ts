import { recogniseCluster } from '../cluster/api/recognise.ts';
import type { Work } from '../cluster/work.ts';
import { type BegunBuild, beginBuild } from '../controller/begun-build.ts';
import { noticeRepeatedErrors } from '../controller/repeated-errors.ts';
import { removeLocalFiles } from '../local/key-pair-files.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { checkoutRoot } from './context/checkout.ts';
import { openContext } from './context/context.ts';
import { operatorName } from './context/holders.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { thisMachine } from './context/local-machine.ts';
import type { Io, UpOptions } from './context/options.ts';
import { claimDirectory, endOrphans, newSessionId } from './context/session-directories.ts';
import { type Controlled, createControl } from './control/control.ts';
import { createControllerLog } from './control/controller-log.ts';
import { offerControl } from './control/keys.ts';
import { endUp, type Standing } from './end/end-up.ts';
import { outcomeOf } from './end/outcome.ts';
import { createPage } from './page.ts';
import { type Answered, createAnswered } from './reviews/answered.ts';
import { createPrunedNotice } from './reviews/pruned-notice.ts';
import { noticeUnserved } from './route/user-process.ts';
import { agreeTo, questionFor } from './start/consent.ts';
import { beginGoFlags, keptProgram, localFilesOf } from './start/controller.ts';
import { printPlan } from './start/dry-run.ts';
import { createSessionLeases } from './start/leases.ts';
import { recoverSessions } from './start/recover.ts';
import type { Considered, Session, UpCommand } from './start/session.ts';
import { discoverTarget } from './start/target.ts';
import { reportUnready, unreadyManagers } from './start/unready.ts';
import { type Running, takeOver } from './take-over.ts';

/** Takes the operator over, serves it from this machine until the signal aborts, and restores everything. */
export async function up(options: UpOptions, io: Io): Promise<void> {
  const startedAt = performance.now();
  await using begun = await buildAgain(options, io);
  await using context = await openContext(options, io);
  const machine = await thisMachine(io.env);
  const goFlags = beginGoFlags(context, options, begun, io);
  const command: UpCommand = { startedAt, context, options, io, machine, goFlags };
  const discovered = await unlessInterrupted(consider(command), io.signal);
  const { question } = discovered;
  if (options.dryRun) {
    options.questions?.push(question);
    return await printPlan(command, discovered);
  }
  await agreeTo([question, ...(options.questions ?? [])], command);
  // The state before the recovery: a dead session that is restored now had paused the manager.
  const unready = unreadyManagers(discovered.target, discovered.inTheWay.unready);
  await unlessInterrupted(reportUnready({ api: context.api, emit: io.emit }, unready), io.signal);
  const found = await recoverSessions(command, discovered);
  // If an object is gone since, something else was found in its place.
  if (found.target !== discovered.target)
    await agreeTo([await questionFor(context, question.cluster, found)], command, question);
  await endOrphans(machine, io.emit);
  const sessionId = newSessionId();
  const operator = operatorName(found.target);
  const checkout = { checkout: context.root, ...(operator === undefined ? {} : { operator }) };
  const directory = await claimDirectory(machine, sessionId, checkout);
  const files = localFilesOf(directory, command);
  const moved = new Map<number, number>();
  const session: Session = { ...command, ...found, sessionId, unready, files, moved, begun };
  try {
    await run(session);
  } finally {
    await removeLocalFiles(directory);
  }
}

async function consider(command: UpCommand): Promise<Considered> {
  const recognising = recogniseCluster(command.context.api);
  // The error of the discovery says more.
  recognising.catch(() => {});
  const found = await discoverTarget(command);
  return { ...found, question: await questionFor(command.context, await recognising, found) };
}

/** Begins the build before anything is known about the operator, because it is usually the same build as in the last session. */
async function buildAgain(
  { controller, command, dryRun }: UpOptions,
  { env, cwd }: Io,
): Promise<BegunBuild | undefined> {
  if (!controller || command !== undefined || dryRun) return undefined;
  return await beginBuild(keptProgram(env, checkoutRoot(cwd)));
}

async function run(session: Session): Promise<void> {
  const { context, options, sessionId, target, io } = session;
  await using followers = new AsyncDisposableStack();
  const writers = new AsyncDisposableStack();
  const ending = new AbortController();
  const leases = followers.use(createSessionLeases(target));
  const signal = AbortSignal.any([io.signal, ending.signal]);
  const since = timeOfAbort(signal);
  const errors = followers.use(noticeRepeatedErrors({ emit: io.emit, signal }));
  const observers: { observe(event: DevloopEvent): void }[] = [leases, errors];
  observers.push(noticeUnserved(options.controller ? 'The controller' : 'Your process', io.emit));
  const log = createControllerLog(options.controllerLog ?? context.config.controller?.log ?? 'all');
  // All events pass through here: they are printed, and update the Leases and the page.
  const emit: Emit = (event) => {
    if (log.shows(event)) io.emit(event);
    for (const one of observers) one.observe(event);
  };
  const work: Work = { api: context.api, sessionId, emit, signal };
  const answered = followers.use(createAnswered(session, work));
  const { recorder } = answered;
  const standing: Standing = { mayHaveChanged: false, recorder, unready: session.unready };
  const controlled = controlledOf(standing, answered);
  const name = operatorName(target) ?? sessionId;
  const control = createControl({ session: sessionId, name, controlled, emit, signal });
  const page = followers.use(createPage(session, work, { control, recorder }));
  observers.push(answered, control, page, createPrunedNotice(context, emit));
  if (options.open) void page.open();
  const { directory } = session.files;
  if (io.onSuspend) followers.use(io.onSuspend(() => standing.route && emit(SUSPENDED)));
  followers.use(
    await offerControl({ api: context.api, control, log, emit, openPage: page.open }, { directory, io }),
  );
  const called = target.services;
  const running: Running = { session, work, leases, answered, standing, called, followers, writers, ending };
  const ended = await failureOf(takeOver(running));
  // If the session was aborted, the reason of the abort is its failure. The error of a wait would only report the interruption.
  const taken = ended && ending.signal.aborted ? { error: ending.signal.reason } : ended;
  // A Ctrl-C after this point must not hide a failure.
  const isInterrupted = io.signal.aborted;
  ending.abort();
  // The cluster is restored even if this fails.
  const unsettled = await failureOf(writers.disposeAsync());
  const failure = taken ?? unsettled;
  const reason = isInterrupted ? String(io.signal.reason ?? 'interrupted') : failure ? 'up failed' : 'ended';
  const isFailure = failure !== undefined && !isInterrupted;
  const restoring = await failureOf(endUp(work, target, standing, { reason, isFailure, since: since() }));
  const outcome = outcomeOf({ failure, restoring, mayHaveChanged: standing.mayHaveChanged, isInterrupted });
  if (outcome.warning) emit(outcome.warning);
  if (outcome.failure) throw outcome.failure.error;
}

const SUSPENDED: DevloopEvent = {
  type: 'warning',
  message: 'devloop is suspended. Until it continues, it answers no reviews, so they fail.',
  hint: 'To continue: fg\nTo restore the cluster: devloop down',
};

async function failureOf(step: Promise<void>): Promise<{ error: unknown } | undefined> {
  return await step.then(
    () => undefined,
    (error) => ({ error }),
  );
}

/** The time of the abort, on the clock of performance.now(); the current time if there was none. */
function timeOfAbort(signal: AbortSignal): () => number {
  let at: number | undefined;
  signal.addEventListener('abort', () => (at = performance.now()), { once: true });
  return () => at ?? performance.now();
}

function controlledOf(standing: Standing, { facts, replay, waiting, longWaits }: Answered): Controlled {
  return {
    gateways: () => standing.route?.gateways,
    supervisor: () => standing.supervisor,
    replaying: facts,
    replay,
    waiting,
    longWaits,
  };
}
