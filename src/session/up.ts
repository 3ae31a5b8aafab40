import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { discover, type Target } from '../cluster/discover.ts';
import { type HeldLease, holdLease } from '../cluster/lease.ts';
import { forbidden, missing, neededFor } from '../cluster/permissions.ts';
import { assertTakeable } from '../cluster/service.ts';
import { createSupervisor, type Gate, type Supervisor } from '../controller/supervisor.ts';
import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { defaultDirectory, findKeyPair, followKeyPair, type FoundPair, layOut } from './certificate.ts';
import { controllerPlan, type LocalFiles } from './controller-plan.ts';
import { deadSessions, describeTarget, leasesOf } from './holders.ts';
import { hintsOf, open, type Opened } from './open.ts';
import type { Io, UpOptions } from './options.ts';
import { claimDirectory, endOrphans } from './orphans.ts';
import { holderHere, newSessionId, type Place, removeDirectory, sessionDirectory, thisPlace } from './place.ts';
import { plannedChanges } from './planned-changes.ts';
import { putBack } from './put-back.ts';
import { reportLeft, restore } from './restore.ts';
import { cutOver, type OpenRoute, openRoute, quietManager } from './take-over.ts';

/** One `up`: everything that its steps share. */
interface Session {
  id: string;
  started: number;
  place: Place;
  opened: Opened;
  target: Target;
  files: LocalFiles;
  options: UpOptions;
  io: Io;
}

const NO_GATE: Gate = { hold() {}, release() {} };

/** Takes the operator over, serves it from here until the signal aborts, and puts everything back. */
export async function up(options: UpOptions, io: Io): Promise<void> {
  const started = performance.now();
  await using opened = await open(options, io);
  const place = thisPlace(io.env);
  const target = await findTarget(opened, options, io, place);
  if (options.dryRun) {
    for (const change of plannedChanges(target)) io.emit({ type: 'change', dryRun: true, ...change });
    return;
  }
  await endOrphans(place, io.emit);
  const id = newSessionId();
  const directory = await sessionDirectory(place, id);
  await claimDirectory(directory);
  const session: Session = { id, started, place, opened, target, files: await localFiles(directory, options), options, io };
  io.emit({ type: 'session.started', session: id, context: opened.api.context, target: describeTarget(target) });
  try {
    await run(session);
  } finally {
    await removeDirectory(directory);
  }
}

/** Discovers, checks what can be checked without a write, and repairs what a dead session left. */
async function findTarget(opened: Opened, options: UpOptions, io: Io, place: Place): Promise<Target> {
  const { api } = opened;
  const hints = await hintsOf(opened, options.command);
  const look = async (emit: Emit): Promise<Target> => await withPermissionList(opened, () => discover(api, opened.wanted, hints, emit));
  const target = await look(io.emit);
  for (const { service } of target.services) assertTakeable(service);
  const lacking = await missing(api, permissionsFor(target));
  if (lacking.length > 0) throw forbidden(api, lacking);
  const dead = await deadSessions(api, target, place, options.takeOver, io.emit, io.signal);
  if (dead.length === 0 || options.dryRun) return target;
  for (const session of dead) {
    io.emit({ type: 'note', message: `Session ${session} is dead or taken over; what it changed is put back first.` });
    reportLeft(await restore(api, session, [target.namespace], { readySeconds: 0 }, io.emit, io.signal), io.emit);
  }
  return await look(() => {});
}

function permissionsFor(target: Target): ReturnType<typeof neededFor> {
  const namespaces = [...new Set([target.namespace, ...target.services.map((one) => one.service.metadata.namespace!)])];
  return neededFor(namespaces, { webhooks: target.services.length > 0, deployment: target.deployment !== undefined, secrets: target.services.length > 0 });
}

/** A refusal during discovery is answered with the whole list of what is missing, not just with the first. */
async function withPermissionList(opened: Opened, look: () => Promise<Target>): Promise<Target> {
  try {
    return await look();
  } catch (error) {
    if (!(error as { isForbidden?: boolean }).isForbidden) throw error;
    const namespace = opened.wanted.namespace ?? opened.api.namespace;
    const lacking = await missing(opened.api, neededFor([namespace], { webhooks: true, deployment: true, secrets: true }));
    throw lacking.length > 0 ? forbidden(opened.api, lacking) : error;
  }
}

/** The controller's own files lie in the session's directory; a process of the user's looks in the user's temporary directory. */
async function localFiles(directory: string, options: UpOptions): Promise<LocalFiles> {
  const temporary = options.controller ? join(directory, 'tmp') : tmpdir();
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  return { directory, certificates: defaultDirectory(temporary), mountedAt: [] };
}

async function run(session: Session): Promise<void> {
  const { opened, target, io } = session;
  const { api } = opened;
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  let route: OpenRoute | undefined;
  let supervisor: Supervisor | undefined;
  await using leases = new AsyncDisposableStack();
  try {
    const pairs = await findPairs(session);
    supervisor = await prepareController(session, signal, () => route);
    const held = await holdLeases(session, leases);
    [route] = await together([
      target.services.length > 0 ? openRoute(api, session.id, target, routeOptions(session), io.emit, signal) : Promise.resolve(undefined),
      supervisor?.build() ?? Promise.resolve(),
    ], (opened) => { route = opened; });
    signal.throwIfAborted();
    if (route) await cutOver(api, session.id, target, route, pairs, io.emit, signal);
    const { gone } = await quietManager(api, session.id, target, io.emit, signal);
    await supervisor?.start();
    if (!(await gone)) io.emit({ type: 'warning', message: 'A Pod of the in-cluster manager does not end; kube-apiserver may go on calling it over open connections.' });
    route?.gateways.release();
    await serve(session, held, pairs, route, supervisor, signal);
  } finally {
    ending.abort();
    await putBack({ api, session: session.id, target, route, supervisor, io });
  }
}

/** Both at once; the first failure waits until the other has come to rest, so that nothing is still being made when all is put back. */
async function together<A, B>([first, second]: [Promise<A>, Promise<B>], onFirst: (value: A) => void): Promise<[A, B]> {
  const [a, b] = await Promise.allSettled([first.then((value) => (onFirst(value), value)), second]);
  if (a.status === 'rejected') throw a.reason;
  if (b.status === 'rejected') throw b.reason;
  return [a.value, b.value];
}

async function findPairs({ opened, target, files, io }: Session): Promise<Map<string, FoundPair>> {
  const pairs = new Map<string, FoundPair>();
  for (const service of target.services) {
    const found = await findKeyPair(opened.api, target, service, opened.config.certificates?.secret, io.emit);
    const { secret } = found;
    io.emit({ type: 'discovered', what: 'secret', value: `${secret.namespace}/${secret.name}`, source: secret.directory ? `mounted at ${secret.directory}` : `its certificate is for ${service.serverName}` });
    if (secret.directory !== undefined && !files.mountedAt.includes(secret.directory)) files.mountedAt.push(secret.directory);
    if (pairs.size === 0) await layOut(files.certificates, found, io.emit);
    pairs.set(service.serverName, found);
  }
  return pairs;
}

async function prepareController(session: Session, signal: AbortSignal, route: () => OpenRoute | undefined): Promise<Supervisor | undefined> {
  const { opened, target, files, options, io } = session;
  if (!options.controller) return undefined;
  const plan = await controllerPlan(opened, target, files, options, io);
  const gate: Gate = target.services.length === 0 ? NO_GATE : { hold: () => route()?.gateways.hold(), release: () => route()?.gateways.release() };
  return createSupervisor(plan, { gate, emit: io.emit, signal });
}

async function holdLeases({ opened, target, id, place, io }: Session, stack: AsyncDisposableStack): Promise<HeldLease[]> {
  const holder = await holderHere(place, describeTarget(target), target.services.length > 0 ? 'direct' : 'none');
  const held: HeldLease[] = [];
  for (const ref of leasesOf(target)) {
    const lease = await holdLease(opened.api, ref, id, holder, io.emit);
    if (lease) held.push(stack.use(lease));
  }
  return held;
}

function routeOptions({ options, opened }: Session): { address?: string | undefined; port?: number | undefined } {
  return { address: options.address ?? opened.config.address, port: options.port ?? opened.config.port };
}

/** The long part: reviews flow, changes are built and swapped in, certificates are followed, until somebody ends it. */
async function serve(session: Session, held: HeldLease[], pairs: Map<string, FoundPair>, route: OpenRoute | undefined, supervisor: Supervisor | undefined, signal: AbortSignal): Promise<void> {
  const { io, target, opened, files } = session;
  io.emit({ type: 'session.ready', session: session.id, ms: performance.now() - session.started });
  await Promise.all(held.map((lease) => lease.update({ health: 'serving', ...(route ? { route: `${route.route.name} ${route.route.address}` } : {}) })));
  if (!session.options.controller) {
    io.emit({ type: 'note', message: `Start your process now; reviews wait for it at 127.0.0.1:${target.services[0]?.ports[0]?.targetPort}. Its certificate lies in ${files.certificates}.` });
  }
  const following = target.services.map((service, index) => {
    const first = pairs.get(service.serverName)!;
    const find = (): Promise<FoundPair> => findKeyPair(opened.api, target, service, opened.config.certificates?.secret, () => {});
    const use = async (found: FoundPair): Promise<void> => {
      if (index === 0) await layOut(files.certificates, found, io.emit);
      route?.gateways.present(service.serverName, found.pair);
    };
    return followKeyPair(find, use, first, io.emit, signal);
  });
  const lost = held.map((lease) => lease.lost.then((by) => { throw new DevloopError('session.lost', `${describeTarget(target)} was taken over by ${by}.`, { hint: 'devloop status' }); }));
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await Promise.race([ended, supervisor?.follow() ?? ended, ...lost]);
  await Promise.race([Promise.all(following), ended]);
}

