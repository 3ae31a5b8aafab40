import { join } from 'node:path';
import { DryRun } from '../../api-proxy/dry-run.ts';
import { type ApiProxy, openApiProxy } from '../../api-proxy/proxy.ts';
import { pollUntil, reportWhileWaiting } from '../../async.ts';
import { readCalls } from '../../calls/read.ts';
import { createSupervisor, type Supervisor } from '../../controller/supervisor.ts';
import { DevloopError } from '../../errors.ts';
import { removeLocalFiles } from '../../local/key-pair-files.ts';
import { type OnlyWay, openOnlyWay } from '../../machine/network-namespace.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { createAnswering } from '../../reviews/answering-build.ts';
import { observeCalls } from '../calls/observed-calls.ts';
import { newSessionId, verifyDirectory } from '../context/session-directories.ts';
import { createControllerLog } from '../control/controller-log.ts';
import { localFilesOf, prepareLocally } from '../start/controller.ts';
import { noticeForbidden } from '../start/forbidden.ts';
import { createIdentity } from '../start/identity.ts';
import { callsOf } from '../start/recorded-calls.ts';
import type { PlannedTakeOver, Session, UpCommand } from '../start/session.ts';
import { admitStarts, type Starts } from '../start/starts.ts';
import { FirstWrites } from './first-writes.ts';
import { aggregated } from './groups.ts';
import { ownPodOf } from './own-pod.ts';
import { type PlannedRun, plannedRun } from './planned.ts';
import { cutOff } from './waits.ts';
import { WorkQueues } from './work-queues.ts';

export interface RunLimits {
  /** The plan is complete when the controller has asked for nothing new for so long; absent: `QUIET_MS`, or sooner if its work queues are empty. */
  quietSeconds: number | undefined;
  /** After this time, what was found so far is the plan. */
  limitSeconds: number;
  /** Whether the controller has the network of this machine. */
  network: boolean;
}

export interface DryRunResult extends PlannedRun {
  /** Why the controller has ended. */
  failure?: DevloopError;
}

const LOOK_EVERY_MS = 200;
const QUIET_MS = 5_000;
/** A controller whose work queues are known to be empty starts something new only by itself, or when it is woken by an event on its way. */
const EMPTY_MS = 2_000;

/** Runs work with a directory of its own, of which nothing is left; if devloop is killed, the next one removes it. */
export async function inDirectory<T>(
  { context, io }: UpCommand,
  work: (directory: string) => Promise<T>,
): Promise<T> {
  const directory = await verifyDirectory(context.root, io.env);
  try {
    return await work(directory);
  } finally {
    await removeLocalFiles(directory);
  }
}

/** What the controller of a command would write. */
export async function planOf(
  directory: string,
  command: UpCommand,
  found: PlannedTakeOver,
  limits: RunLimits,
): Promise<DryRunResult> {
  const files = localFilesOf(directory, command);
  const ownPod = await ownPodOf(command.context.api, found.target);
  const of = { sessionId: newSessionId(), unready: [], files, ownPod, moved: new Map() };
  return await runDry({ ...command, ...found, ...of }, limits);
}

/** What the controller of a session would write, until it asks for nothing new or ends. */
async function runDry(session: Session, limits: RunLimits): Promise<DryRunResult> {
  const { context, io, sessionId, files } = session;
  const log = createControllerLog('warnings');
  const emit: Emit = (event) => log.shown(event).forEach((one) => void io.emit(one));
  await using stack = new AsyncDisposableStack();
  const work = { api: context.api, sessionId, emit, signal: io.signal };
  const identity = stack.use(createIdentity(session, work));
  const { upstream } = identity;
  const answering = createAnswering();
  const queues = new WorkQueues();
  const observed = { answering, isControllers: () => false, upstream, signal: io.signal, reported: queues };
  // Nothing is stored, so a controller may try again and again, and that is no fault of its own.
  const calls = await observeCalls(callsOf(session), observed, () => {});
  const first = new FirstWrites();
  const recorded = new AsyncDisposableStack();
  recorded.use(calls);
  const isGo = session.facts.language?.name === 'Go';
  const proxy = recorded.use(
    await openApiProxy({
      upstream: noticeForbidden(identity, { root: context.root, isGo, env: io.env, ...work }),
      hooks: first.hooks(calls.hooks),
      reports: calls.socket,
      dry: new DryRun(await aggregated(context.api, io.emit)),
    }),
  );
  const onlyWay = limits.network ? undefined : onlyWayTo(proxy, files.directory);
  if (onlyWay) recorded.use(await openOnlyWay(onlyWay));
  const starts = admitStarts(proxy, session);
  let endedAt = Number.POSITIVE_INFINITY;
  const failure = await run(session, { starts, onlyWay, identity, emit }, (ended) => {
    first.begin();
    const waiting = { ...limits, signal: io.signal, emit: io.emit };
    return untilQuiet({ first, queues }, ended, waiting).finally(() => (endedAt = Date.now()));
  });
  // What is recorded is complete when nothing can come any more.
  await recorded.disposeAsync();
  const records = cutOff(await readCalls(files.directory), endedAt);
  const found = plannedRun(records, (record) => first.again(record));
  const [one, ...others] = found.failed;
  if (one)
    io.emit(notice('plan.reconcile-failed', { object: one.of, error: one.error, others: others.length }));
  return failure === undefined ? found : { ...found, failure };
}

function onlyWayTo({ variables }: ApiProxy, directory: string): OnlyWay {
  return { port: Number(variables.KUBERNETES_SERVICE_PORT), socket: join(directory, 'api.sock') };
}

interface Parts {
  starts: Starts;
  onlyWay: OnlyWay | undefined;
  identity: ReturnType<typeof createIdentity>;
  emit: Emit;
}

/** Starts the controller, and ends it when it was quiet. Returns the error if it has ended before. */
async function run(
  session: Session,
  { starts, onlyWay, identity, emit }: Parts,
  untilQuiet: (ended: Promise<DevloopError>) => Promise<DevloopError | undefined>,
): Promise<DevloopError | undefined> {
  session.io.emit(notice('plan.limits', { isIsolated: onlyWay !== undefined }));
  const isAlone = onlyWay !== undefined;
  const preparing = prepareLocally(session, starts.access, isAlone);
  const [{ controller }] = await Promise.all([preparing, identity.settle()]);
  if (controller === undefined) return undefined;
  const { io, prepared } = session;
  const election = {
    attend() {
      const start = starts.begin();
      return { reads: () => {}, ended: () => start.end() };
    },
  };
  // Nobody calls the webhooks, and this machine does not see whether they are served in another network.
  const alone = onlyWay && { onlyWay, webhook: undefined };
  const upToDate = prepared?.upToDate;
  const planned = { ...controller.plan, ...alone, late: [starts.late], upToDate, election };
  await using supervisor = createSupervisor(planned, { emit, signal: io.signal });
  await supervisor.prepare();
  await supervisor.build('throw');
  return (await startFailure(supervisor)) ?? (await untilQuiet(supervisor.ended()));
}

/** The error of a controller that has ended before it was ready: it may have asked for something until then. */
async function startFailure(supervisor: Supervisor): Promise<DevloopError | undefined> {
  try {
    await supervisor.start();
    return undefined;
  } catch (error) {
    if (error instanceof DevloopError && error.code === 'controller.exited') return error;
    throw error;
  }
}

/** Waits until nothing new was asked for long enough. Returns the error of a controller that has ended. */
async function untilQuiet(
  { first, queues }: { first: FirstWrites; queues: WorkQueues },
  ended: Promise<DevloopError>,
  { quietSeconds, limitSeconds, signal, emit }: RunLimits & { signal: AbortSignal; emit: Emit },
): Promise<DevloopError | undefined> {
  const waiting = new AbortController();
  const isQuiet = async (): Promise<boolean> => {
    if (quietSeconds !== undefined) return first.quietMs >= quietSeconds * 1000;
    return first.quietMs >= QUIET_MS || Math.min(first.quietMs, queues.emptyMs) >= EMPTY_MS;
  };
  const timing = { everyMs: LOOK_EVERY_MS, limitMs: limitSeconds * 1000 };
  const quiet = pollUntil(isQuiet, { ...timing, signal: AbortSignal.any([signal, waiting.signal]) });
  const work = Promise.race([ended, quiet]);
  try {
    const is = await reportWhileWaiting(
      work,
      { for: 'the controller to ask for nothing new', limitSeconds },
      emit,
    );
    if (signal.aborted) throw new DevloopError('interrupted', 'Interrupted. Nothing was changed.');
    if (is === false) emit(notice('plan.not-quiet', { seconds: limitSeconds }));
    return typeof is === 'boolean' ? undefined : is;
  } finally {
    waiting.abort();
  }
}
