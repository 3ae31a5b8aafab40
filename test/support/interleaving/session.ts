/** `devloop up` without its gateways and its controller: the product's own steps, in the order of take-over.ts. */

import { allDone } from '../../../src/async.ts';
import type { ClusterApi } from '../../../src/cluster/api/client.ts';
import { refOf } from '../../../src/cluster/api/kinds.ts';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { relayLabels } from '../../../src/cluster/names.ts';
import { type Destination, moveEndpoints, pointersOf } from '../../../src/cluster/takeover/endpoints.ts';
import { assertTakeable, pointToAddress, pointToPods } from '../../../src/cluster/takeover/service.ts';
import type { Work } from '../../../src/cluster/work.ts';
import type { Target } from '../../../src/operator/target.ts';
import type { Emit } from '../../../src/report/events.ts';
import { describe } from '../../../src/report/object-name.ts';
import { sessionsInTheWay } from '../../../src/session/context/holders.ts';
import { Facts } from '../../../src/session/context/observed.ts';
import { endUp, type RunningParts } from '../../../src/session/end/end-up.ts';
import { watchedPointer } from '../../../src/session/guard/endpoints.ts';
import { startGuard } from '../../../src/session/guard/guard.ts';
import { watchedSlices } from '../../../src/session/guard/late-slices.ts';
import { watchedObject } from '../../../src/session/guard/react.ts';
import { serviceName } from '../../../src/session/route/cut-over.ts';
import { createSessionLeases } from '../../../src/session/start/leases.ts';
import { planPause } from '../../../src/session/start/pause.ts';
import { planTakeOver } from '../../../src/session/start/plan.ts';
import { recoverSessions } from '../../../src/session/start/recover.ts';
import { requireSelectors } from '../../../src/session/start/selectorless.ts';
import type {
  PlannedTakeOver,
  Session as RealSession,
  UpCommand,
} from '../../../src/session/start/session.ts';
import { partly } from '../partly.ts';
import { settingsOf } from '../settings.ts';
import { NAMESPACE } from './objects.ts';
import { clientOf, newProcess, type Process, type World } from './world.ts';

/** Every session runs on a machine of its own, so only its Lease shows whether it is alive. The path cannot be read. */
export const ELSEWHERE = {
  user: 'ann',
  host: 'laptop',
  processStart: '',
  stateDirectory: '\0',
  isHere: () => false,
  isRunning: async () => undefined,
};

export interface Session {
  process: Process;
  route: 'direct' | 'relay';
  /** It has taken over the operator, and is not ending yet. */
  isServing: boolean;
  hasServed: boolean;
  /** Somebody took over its operator, or its Lease was not renewed in time. It may serve beside another session for a moment. */
  isDisturbed: boolean;
  /** Presses Ctrl-C. */
  interrupt(): void;
  /** An SSH tunnel reconnects with another port, and the endpoints have to follow. */
  reconnect(): Promise<void>;
  /** The error of the command, if it failed. */
  over: Promise<unknown>;
}

export interface UpOptions {
  route: 'direct' | 'relay';
  takeOver: boolean;
}

export function startSession(world: World, others: Session[], id: string, options: UpOptions): Session {
  const interrupted = new AbortController();
  const process = newProcess(id, [id]);
  let port = 40_000;
  const session: Session & { move?: () => Promise<void> } = {
    process,
    route: options.route,
    isServing: false,
    hasServed: false,
    isDisturbed: false,
    interrupt: () => interrupted.abort('SIGINT'),
    async reconnect() {
      port++;
      await session.move?.();
    },
    over: Promise.resolve(),
  };
  const to = (service: Service): Destination => ({
    address: service.spec.ipFamilies?.[0] === 'IPv6' ? 'fd00::7' : '10.0.0.7',
    ports: (service.spec.ports ?? []).map(({ name = '' }, index) => ({ name, port: port + 100 * index })),
  });
  const command: Command = { world, id, options, others, session, to, signal: interrupted.signal };
  // After Ctrl-C, main.ts does not report the signal's reason as an error.
  session.over = up(command)
    .finally(() => {
      process.isOver = true;
    })
    .then(
      () => undefined,
      (error) => (error === interrupted.signal.reason ? undefined : error),
    );
  return session;
}

interface Command {
  world: World;
  id: string;
  options: UpOptions;
  others: Session[];
  session: Session & { move?: () => Promise<void> };
  to: (service: Service) => Destination;
  signal: AbortSignal;
}

async function up(command: Command): Promise<void> {
  const { world, id, session, signal } = command;
  const api = clientOf(world, session.process);
  const found = await discover(command, api);
  const { target } = found;
  const ending = new AbortController();
  const facts = new Facts(target.services.map(serviceName));
  const leases = createSessionLeases(target, facts);
  const gaveIn = countRounds(world, id);
  const emit: Emit = (event) => {
    world.tell(event);
    gaveIn(event);
    facts.observe(event);
    leases.observe();
  };
  const work: Work = { api, sessionId: id, emit, signal: AbortSignal.any([signal, ending.signal]) };
  const writers = new AsyncDisposableStack();
  const standing: RunningParts = { mayHaveChanged: false };
  const running: Running = { ...command, found, work, writers, leases, standing, ending };
  const failure = await takeOver(running).then(
    () => undefined,
    (error) => ({ error: ending.signal.aborted ? ending.signal.reason : error }),
  );
  session.isServing = false;
  ending.abort();
  const since = performance.now();
  await writers.disposeAsync();
  const why = { reason: 'ended', isFailure: failure !== undefined && !signal.aborted, since };
  await endUp(work, target, standing, why).finally(() => leases[Symbol.asyncDispose]());
  if (failure !== undefined && !signal.aborted) throw failure.error;
}

/** After five writes within a minute, a session gives up. */
function countRounds({ faults }: World, id: string): Emit {
  const writes: { of: string; at: number }[] = [];
  return (event) => {
    if (event.type !== 'guard.overwritten') return;
    const of = `${event.field} of ${describe(event.object)}`;
    writes.push({ of, at: performance.now() });
    const recent = writes.filter((one) => one.of === of && performance.now() - one.at < 60_000);
    if (recent.length > 5) faults.push(`${id} does not give in: ${of}`);
  };
}

interface Running extends Command {
  found: PlannedTakeOver;
  work: Work;
  writers: AsyncDisposableStack;
  leases: ReturnType<typeof createSessionLeases>;
  standing: RunningParts;
  ending: AbortController;
}

async function discover(command: Command, api: ClusterApi): Promise<PlannedTakeOver> {
  const { world, options, others, session, signal } = command;
  const emit: Emit = (event) => world.tell(event);
  const target = await targetIn(api);
  for (const { service } of target.services) assertTakeable(service);
  await requireSelectors(api, target, { ...SETTINGS, adopt: false });
  const observer = { api, emit, signal };
  const plan = planTakeOver(target, SETTINGS, await planPause(observer, target, 'auto'));
  const inTheWay = await sessionsInTheWay(observer, target, ELSEWHERE, options.takeOver);
  for (const other of inTheWay.sessions) session.process.sessions.add(other);
  for (const one of others) one.isDisturbed ||= inTheWay.sessions.includes(one.process.name);
  const context = { api, settings: settingsOf(), wanted: { services: [] } };
  const io = { emit, signal, env: {} };
  const asked = partly<UpCommand>({
    context,
    io,
    options: { takeOver: options.takeOver },
    machine: ELSEWHERE,
  });
  const found = partly<Parameters<typeof recoverSessions>[1]>({ target, plan, facts: {}, inTheWay });
  return await recoverSessions(asked, found);
}

const SETTINGS: Parameters<typeof planTakeOver>[1] = { choice: 'relay' };

async function targetIn(api: ClusterApi): Promise<Target> {
  const services = await api.list<Service>('Service', NAMESPACE);
  const object = (await api.get<Workload>({ kind: 'Deployment', namespace: NAMESPACE, name: 'manager' }))!;
  const ref = refOf('Deployment', object.metadata);
  const container = object.spec.template.spec.containers[0]!;
  return {
    namespace: NAMESPACE,
    services: services.map((service) => ({ service, serverName: '', calls: [], ports: [], source: '' })),
    manager: { ref, object, container, source: '' },
  };
}

/** As in take-over.ts, for a manager whose Pods end. */
async function takeOver(running: Running): Promise<void> {
  const { id, found, work, session, writers, leases, standing, ending } = running;
  const { target, plan } = found;
  const end = (error: unknown): void => ending.abort(error);
  standing.mayHaveChanged = true;
  const guarded = plan.guarded.map((one) => {
    const service = target.services.find(({ service: { metadata } }) => metadata.name === one.ref.name);
    const isService = one.ref.kind === 'Service' && service !== undefined;
    return isService ? { ...one, again: () => point(running, service.service) } : one;
  });
  const watched = guarded.map((one) => watchedObject(one, id));
  writers.use(startGuard(work, watched, end));
  const holding = { io: { emit: work.emit }, machine: ELSEWHERE, target, plan, unready: [] };
  await leases.hold(partly<RealSession>(holding), work, end);
  await leases.renew();
  work.signal.throwIfAborted();
  const services = target.services.map(({ service }) => service);
  session.move = async () => {
    if (running.options.route === 'direct' && session.isServing)
      await allDone(services.map((one) => moveEndpoints(work, one, () => running.to(one))));
  };
  const isDirect = running.options.route === 'direct';
  if (isDirect) writers.use(startGuard(work, services.map(watchedSlices), end));
  await allDone(services.map((one) => point(running, one)));
  if (isDirect) writers.use(startGuard(work, pointers(running, services), end));
  const pausing = await Promise.all(plan.pause.map((step) => step.apply(work)));
  standing.pausing = pausing;
  await allDone(pausing.map(({ idle }) => idle));
  await allDone(pausing.map(({ terminating }) => terminating));
  await Promise.all(pausing.map(({ ended }) => ended));
  work.signal.throwIfAborted();
  serve(running);
  await new Promise<void>((resolve) => work.signal.addEventListener('abort', () => resolve()));
  ending.signal.throwIfAborted();
}

function serve({ id, session, others, world }: Running): void {
  session.isServing = true;
  session.hasServed = true;
  const beside = others.filter((one) => one !== session && one.isServing && !one.process.isKilled);
  for (const one of beside)
    if (!one.isDisturbed) world.faults.push(`${id} serves while ${one.process.name} does`);
}

async function point({ options, id, work, to }: Running, service: Service): Promise<void> {
  if (options.route === 'relay') await pointToPods(service, relayLabels(id)).apply(work);
  else await pointToAddress(service, 'this machine').apply(work, () => to(service));
}

function pointers({ id, to }: Running, services: Service[]) {
  return services.flatMap((service) =>
    pointersOf(service, id, () => to(service)).map((pointer) =>
      watchedPointer({ ...pointer, service: refOf('Service', service.metadata) }),
    ),
  );
}
