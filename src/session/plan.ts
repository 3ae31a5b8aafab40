import { DryRun } from '../api-proxy/dry-run.ts';
import { openApiProxy } from '../api-proxy/proxy.ts';
import { sleep } from '../async.ts';
import { readCalls } from '../calls/read.ts';
import { isCall } from '../calls/record.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { ApiService } from '../cluster/api/objects.ts';
import { createSupervisor } from '../controller/supervisor.ts';
import { DevloopError } from '../errors.ts';
import { removeLocalFiles } from '../local/key-pair-files.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { PlannedWrite } from '../report/planned-write.ts';
import { createAnswering } from '../reviews/answering-build.ts';
import { observeCalls } from './calls/observed-calls.ts';
import { callsOf } from './calls/of-session.ts';
import { openContext } from './context/context.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { thisMachine } from './context/local-machine.ts';
import type { CommonOptions, Io, UpOptions } from './context/options.ts';
import { endOrphans, newSessionId, verifyDirectory } from './context/session-directories.ts';
import { createControllerLog } from './control/controller-log.ts';
import { FirstWrites } from './planning/first-writes.ts';
import { plannedWrites } from './planning/planned.ts';
import { localFilesOf, prepareLocally, prepareProgram } from './start/controller.ts';
import { noticeForbidden } from './start/forbidden.ts';
import { createIdentity } from './start/identity.ts';
import { isProxied } from './start/proxied.ts';
import type { Session, UpCommand } from './start/session.ts';
import { admitStarts } from './start/starts.ts';
import { discoverOnly } from './start/target.ts';

export interface PlanOptions extends CommonOptions {
  /** The plan is complete when the controller has asked for nothing new for so long. */
  quietSeconds: number;
  /** After this time, what was found so far is the plan. */
  limitSeconds: number;
}

const NO_TAKE_OVER = {
  ...{ controller: true, webhooks: true, takeOver: false, adopt: false, yes: false, dryRun: false },
  ...{ failFast: true, stamp: false, replay: false, open: false },
} as const;
const LOOK_EVERY_MS = 200;

/** Runs the checkout's controller against the cluster without a change there, and prints what it would write. Throws 'plan.changes'. */
export async function plan(options: PlanOptions, io: Io): Promise<void> {
  await using context = await openContext(options, io);
  if (!isProxied(context)) throw new DevloopError('usage.invalid', DIRECT);
  const machine = await thisMachine(io.env);
  await endOrphans(machine, io.emit, 'verify');
  const up: UpOptions = { ...options, ...NO_TAKE_OVER };
  const prepared = await prepareProgram({ context, options: up }, io);
  const command: UpCommand = { startedAt: performance.now(), context, options: up, io, machine, prepared };
  const found = await unlessInterrupted(discoverOnly(command), io.signal);
  const directory = await verifyDirectory(context.root, io.env);
  try {
    const files = localFilesOf(directory, command);
    const session: Session = {
      ...command,
      ...found,
      sessionId: newSessionId(),
      unready: [],
      files,
      moved: new Map(),
    };
    conclude(await writesOf(session, options), io.emit);
  } finally {
    await removeLocalFiles(directory);
  }
}

const DIRECT = 'A plan needs the API proxy, which `api: direct` leaves out.';

/** What the controller of a session would write, until it asks for nothing new. */
async function writesOf(
  session: Session,
  { quietSeconds, limitSeconds }: PlanOptions,
): Promise<PlannedWrite[]> {
  const { context, io, sessionId, files } = session;
  const log = createControllerLog('warnings');
  const emit: Emit = (event) => log.shown(event).forEach((one) => void io.emit(one));
  await using stack = new AsyncDisposableStack();
  const work = { api: context.api, sessionId, emit, signal: io.signal };
  const identity = stack.use(createIdentity(session, work));
  const { upstream } = identity;
  const answering = createAnswering();
  const observed = { answering, isControllers: () => false, upstream, signal: io.signal };
  // Nothing is stored, so a controller may try again and again, and that is no fault of its own.
  const calls = await observeCalls(callsOf(session), observed, () => {});
  const first = new FirstWrites();
  const recorded = new AsyncDisposableStack();
  recorded.use(calls);
  const proxy = recorded.use(
    await openApiProxy({
      upstream: noticeForbidden(identity, {
        root: context.root,
        isGo: session.facts.language?.name === 'Go',
        ...work,
      }),
      hooks: first.hooks(calls.hooks),
      reports: calls.socket,
      dry: new DryRun(await aggregated(context.api, io.emit)),
    }),
  );
  await run(session, { starts: admitStarts(proxy, session), identity, emit }, async () => {
    first.begin();
    const until = performance.now() + limitSeconds * 1000;
    while (first.quietMs < quietSeconds * 1000 && performance.now() < until)
      if (!(await sleep(LOOK_EVERY_MS, io.signal)))
        throw new DevloopError('interrupted', 'Interrupted. Nothing was changed.');
    if (performance.now() >= until) io.emit(notice('plan.not-quiet', { seconds: limitSeconds }));
  });
  // What is recorded is complete when nothing can come any more.
  await recorded.disposeAsync();
  return plannedWrites((await readCalls(files.directory)).filter(isCall));
}

/** Starts the controller, and ends it when it was quiet. */
async function run(
  session: Session,
  {
    starts,
    identity,
    emit,
  }: { starts: ReturnType<typeof admitStarts>; identity: ReturnType<typeof createIdentity>; emit: Emit },
  untilQuiet: () => Promise<void>,
): Promise<void> {
  session.io.emit(notice('plan.limits', {}));
  const [{ controller }] = await Promise.all([prepareLocally(session, starts.access), identity.settle()]);
  if (controller === undefined) return;
  const { io, prepared } = session;
  const election = {
    attend() {
      const start = starts.begin();
      return { reads: () => {}, ended: () => start.end() };
    },
  };
  const planned = { ...controller, late: [starts.late], upToDate: prepared?.upToDate, election };
  await using supervisor = createSupervisor(planned, { emit, signal: io.signal });
  await supervisor.prepare();
  await supervisor.build('throw');
  await supervisor.start();
  await untilQuiet();
}

/** The groups that kube-apiserver serves itself. */
const OWN_GROUPS = new Set(
  [
    ...[',apps,autoscaling,batch,extensions,policy,admissionregistration.k8s.io,apiextensions.k8s.io'],
    ...[
      'apiregistration.k8s.io,authentication.k8s.io,authorization.k8s.io,certificates.k8s.io,coordination.k8s.io',
    ],
    ...['discovery.k8s.io,events.k8s.io,flowcontrol.apiserver.k8s.io,networking.k8s.io,node.k8s.io'],
    ...['rbac.authorization.k8s.io,resource.k8s.io,scheduling.k8s.io,storage.k8s.io,storagemigration.k8s.io'],
  ].flatMap((some) => some.split(',')),
);

/** Whether another server answers for a group. One that nobody can look up counts as such. */
async function aggregated(api: ClusterApi, emit: Emit): Promise<(group: string) => boolean> {
  try {
    const services = await api.list<ApiService>('APIService', undefined);
    const groups = new Set(services.filter(({ spec }) => spec.service).map(({ spec }) => spec.group ?? ''));
    return (group) => groups.has(group);
  } catch (error) {
    emit(notice('plan.groups-unknown', { cause: String((error as Error).message) }));
    return (group) => !OWN_GROUPS.has(group);
  }
}

function conclude(writes: PlannedWrite[], emit: Emit): void {
  for (const write of writes) emit({ type: 'plan.write', write });
  const count = (action: PlannedWrite['action']): number =>
    writes.filter((one) => one.action === action).length;
  const counts = { create: count('create'), change: count('change'), delete: count('delete') };
  const rest = { refused: count('refused'), notSent: count('not-sent') };
  emit({ type: 'plan.done', ...counts, ...rest });
  if (writes.length > 0) throw new DevloopError('plan.changes', CHANGES, { isSummary: true });
}

const CHANGES = 'The controller would change the cluster.';
