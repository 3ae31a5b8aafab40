import { recogniseCluster } from '../cluster/api/recognise.ts';
import type { Work } from '../cluster/work.ts';
import { noticeRepeatedErrors } from '../controller/repeated-errors.ts';
import { removeLocalFiles } from '../local/key-pair-files.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { observeCalls } from './calls/observed-calls.ts';
import { openContext } from './context/context.ts';
import { operatorName } from './context/holders.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { thisMachine } from './context/local-machine.ts';
import { Facts } from './context/observed.ts';
import type { Io, UpOptions } from './context/options.ts';
import { keepingWarnings } from './context/page-warnings.ts';
import { claimDirectory, endOrphans, newSessionId } from './context/session-directories.ts';
import { actionsOf } from './control/actions.ts';
import { type ControlledParts, createControl } from './control/control.ts';
import { type ControllerLog, createControllerLog } from './control/controller-log.ts';
import { environmentOf } from './control/environment.ts';
import { keepOutput } from './control/kept-output.ts';
import { offerControl } from './control/keys.ts';
import { Restored } from './control/restored.ts';
import { endUp, type RunningParts } from './end/end-up.ts';
import { outcomeOf } from './end/outcome.ts';
import { createFaults, type SessionFaults } from './faults/session-faults.ts';
import { createPage } from './page.ts';
import { type AnsweredReviews, createAnswered } from './reviews/answered.ts';
import { createPrunedNotice } from './reviews/pruned-notice.ts';
import { serviceName } from './route/cut-over.ts';
import { noticeUnserved } from './route/user-process.ts';
import type { Guest } from './running.ts';
import { agreeTo, questionFor } from './start/consent.ts';
import { localFilesOf, prepareProgram } from './start/controller.ts';
import { printPlan } from './start/dry-run.ts';
import { createIdentity } from './start/identity.ts';
import { createSessionLeases } from './start/leases.ts';
import { callsOf } from './start/recorded-calls.ts';
import { recoverSessions } from './start/recover.ts';
import type { Proposal, Session, UpCommand } from './start/session.ts';
import { discoverTarget } from './start/target.ts';
import { reportUnready, unreadyManagers } from './start/unready.ts';
import { orWithoutCluster } from './start/without-cluster.ts';
import { takeOver } from './take-over.ts';

/** Takes the operator over, serves it from this machine until the signal aborts or the guest is done, and restores everything. */
export async function up(options: UpOptions, terminal: Io, guest?: Guest): Promise<void> {
  const io = keepingWarnings(terminal);
  const startedAt = performance.now();
  const orElse = (error: unknown): never => {
    throw options.embedded ? error : orWithoutCluster(error);
  };
  await using context = await openContext(options, io).catch(orElse);
  const machine = await thisMachine(io.env);
  const prepared = await prepareProgram({ context, options }, io);
  const command: UpCommand = { startedAt, context, options, io, machine, prepared };
  const discovered = await unlessInterrupted(consider(command).catch(orElse), io.signal);
  const { question } = discovered;
  if (options.dryRun) {
    options.questions?.push(question);
    return await printPlan(command, discovered);
  }
  await agreeTo([question, ...(options.questions ?? [])], command);
  // The state before the recovery: a dead session that is restored now had paused the manager.
  const unready = unreadyManagers(discovered.target, discovered.inTheWay.unready);
  if (!options.embedded)
    await unlessInterrupted(reportUnready({ api: context.api, emit: io.emit }, unready), io.signal);
  const found = await recoverSessions(command, discovered);
  // If an object is gone since, something else was found in its place.
  if (found.target !== discovered.target)
    await agreeTo([await questionFor(context, question.cluster, found)], command, question);
  await endOrphans(machine, io.emit);
  const sessionId = newSessionId();
  const operator = operatorName(found.target);
  const { kubeconfig, given } = options;
  const embedded = options.embedded && { kubeconfig: kubeconfig!, context: given.context! };
  const checkout = { checkout: context.root, operator, ...(embedded && { embedded }) };
  const directory = await claimDirectory(machine, sessionId, checkout);
  const files = localFilesOf(directory, command);
  const moved = new Map<number, number>();
  const session: Session = { ...command, ...found, sessionId, unready, files, moved };
  try {
    await run(session, guest);
  } finally {
    await removeLocalFiles(directory);
  }
}

async function consider(command: UpCommand): Promise<Proposal> {
  const recognising = recogniseCluster(command.context.api);
  // The error of the discovery says more.
  recognising.catch(() => {});
  const found = await discoverTarget(command);
  return { ...found, question: await questionFor(command.context, await recognising, found) };
}

async function run(session: Session, guest: Guest | undefined): Promise<void> {
  const { context, options, sessionId, target, io } = session;
  await using followers = new AsyncDisposableStack();
  const writers = new AsyncDisposableStack();
  const ending = new AbortController();
  void options.embedded?.ended.then((error) => ending.abort(error));
  const facts = new Facts(target.services.map(serviceName));
  const leases = followers.use(createSessionLeases(target, facts, () => faults.active()));
  const signal = AbortSignal.any([io.signal, ending.signal]);
  const since = timeOfAbort(signal);
  const mayWrite = (): boolean => leases.state() !== 'ended';
  const log = createControllerLog(context.settings['controller.log'].value, { mayWrite });
  const listeners: Listener[] = [];
  const emit: Emit = (event) => {
    for (const one of listeners) one.observe(event);
  };
  const work: Work = { api: context.api, sessionId, emit, signal };
  const identity = followers.use(createIdentity(session, work));
  const answered = followers.use(createAnswered(session, work, identity));
  const reported = { begun: () => log.reportsReconciles(), ended() {} };
  const seen = { ...answered, upstream: identity.upstream, signal, reported };
  const observed = followers.use(await observeCalls(callsOf(session), seen, emit));
  const calls = guest ? { ...observed, hooks: guest.hooks(observed.hooks) } : observed;
  const faults = createFaults(session, emit);
  const { recorder } = answered;
  const standing: RunningParts = { mayHaveChanged: false, recorder, leases, unready: session.unready };
  const controlled = controlledOf(session, standing, answered, faults);
  const name = operatorName(target) ?? sessionId;
  const { warnings } = keepingWarnings(io);
  const control = createControl({ session: sessionId, name, facts, controlled, emit, signal });
  const page = followers.use(createPage(session, work, { facts, control, recorder, calls, warnings }));
  const errors = followers.use(noticeRepeatedErrors({ emit: io.emit, signal }));
  const kept = { checkout: context.root, session: sessionId };
  listeners.push(followers.use(await keepOutput(session.machine, kept, io.emit)));
  listeners.push(...inOrder(session, { log, facts, leases, errors, answered, calls, control, page, work }));
  const restored = new Restored();
  listeners.push(restored, ...(guest ? [guest] : []));
  faults.change({ add: context.settings.faults.value ?? [] });
  if (options.open) void page.open();
  const { directory } = session.files;
  if (io.onSuspend)
    followers.use(io.onSuspend(() => standing.route && emit(notice('session.suspended', {}))));
  const actions = actionsOf({ api: context.api, identity, control, log, emit, openPage: page.open });
  followers.use(await offerControl({ control, actions, restored, emit }, { directory, io }));
  const called = target.services;
  const seenParts = { answered, calls, faults, identity, guest };
  const parts = { work, leases, ...seenParts, standing, called, followers, writers, ending };
  const ended = await failureOf(takeOver({ ...session, ...parts }));
  await conclude(session, { ...parts, since }, ended);
}

/** Restores the cluster, whatever has happened, and throws what has failed. `since`: when the session was interrupted. */
async function conclude(
  { io, target }: Session,
  { work, standing, writers, ending, since }: Concluded,
  ended: Failure | undefined,
): Promise<void> {
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
  if (outcome.warning) work.emit(outcome.warning);
  if (outcome.failure) throw outcome.failure.error;
}

interface Concluded {
  work: Work;
  standing: RunningParts;
  writers: AsyncDisposableStack;
  ending: AbortController;
  since(): number;
}

interface Failure {
  error: unknown;
}

/** What reacts to the events of a session. */
interface Listener {
  observe(event: DevloopEvent): void;
}

interface SessionListeners {
  log: ControllerLog;
  facts: Listener;
  leases: Listener;
  errors: Listener;
  answered: Listener;
  calls: Listener;
  control: Listener;
  page: Listener;
  work: Pick<Work, 'emit' | 'signal'>;
}

/** What each event of the session does, in this order. */
function inOrder({ context, facts: { groups }, options, io }: Session, all: SessionListeners): Listener[] {
  const { log, facts, leases, errors, answered, calls, control, page, work } = all;
  return [
    // The user sees it.
    { observe: (event) => log.shown(event).forEach((one) => void io.emit(one)) },
    // It changes the summary that those after it read.
    facts,
    // Other machines see the session's health in its Leases.
    leases,
    // An error that the controller logs again and again is named, with what to do about it.
    errors,
    // A webhook that the code does not serve is named.
    noticeUnserved(options.controller ? 'The controller' : 'Your process', io.emit),
    // Reviews are recorded with the build that answers, and replayed after a restart.
    answered,
    // Log lines are noted with their reconcile, and those of a controller that exits end.
    calls,
    // The line at the bottom of the terminal changes.
    control,
    // The page shows new reviews.
    page,
    // A field that the cluster dropped, because its CRD is older than the code, is named.
    createPrunedNotice({ root: context.root, cwd: io.cwd, groups }, work),
  ];
}

async function failureOf(step: Promise<void>): Promise<Failure | undefined> {
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

function controlledOf(
  session: Session,
  standing: RunningParts,
  { facts, replay, waiting, longWaits }: AnsweredReviews,
  { change }: SessionFaults,
): ControlledParts {
  return {
    gateways: () => standing.route?.gateways,
    supervisor: () => standing.supervisor,
    replaying: facts,
    replay,
    waiting,
    longWaits,
    faults: change,
    environment: () => environmentOf(session),
  };
}
