import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { allDone, allOrNone } from '../async.ts';
import type { HeldLease } from '../cluster/takeover/lease.ts';
import { createSupervisor, type Gate, type Supervisor } from '../controller/supervisor.ts';
import { DevloopError, messageOf } from '../errors.ts';
import { recordOutside, removeLocalFiles, writeFoundPair, writeHardCoded } from '../local/key-pair-files.ts';
import { type KeyPairs, readKeyPairs } from '../local/key-pairs.ts';
import { writeNeededFiles } from '../local/mounts.ts';
import { planController } from '../local/plan.ts';
import { requireFreePort } from '../machine/port.ts';
import type { Emit } from '../report/events.ts';
import { openContext } from './context/context.ts';
import { healthAfter, STARTING, wordsFor } from './context/health.ts';
import { targetsOf } from './context/holders.ts';
import { thisMachine } from './context/local-machine.ts';
import type { Io, UpOptions } from './context/options.ts';
import { claimDirectory, endOrphans, newSessionId } from './context/session-directories.ts';
import { putBack } from './end/put-back.ts';
import { cutOver, followMends, serviceName } from './route/cut-over.ts';
import { openRoute } from './route/open-route.ts';
import { type OpenRoute, type Routing, routeSettings } from './route/routing.ts';
import { serve } from './serve.ts';
import { tellPlan } from './start/dry-run.ts';
import { findTarget } from './start/find-target.ts';
import { confirmHeld, holdLeases } from './start/leases.ts';
import { controllerInputs, filesIn, keyPairSearch } from './start/local-inputs.ts';
import { pauseManager } from './start/pause-manager.ts';
import type { Session } from './start/session.ts';

/** Takes the operator over, serves it from here until the signal aborts, and puts everything back. */
export async function up(options: UpOptions, io: Io): Promise<void> {
  const started = performance.now();
  await using opened = await openContext(options, io);
  const machine = await thisMachine(io.env);
  const found = await findTarget(opened, options, io, machine);
  if (options.dryRun) {
    const id = '<session>';
    const files = filesIn(join(machine.stateDirectory, id), opened, options);
    return await tellPlan({ ...found, id, started, machine, opened, files, options, io });
  }
  await endOrphans(machine, io.emit);
  const id = newSessionId();
  const directory = await claimDirectory(machine, id);
  const files = filesIn(directory, opened, options);
  await mkdir(join(directory, 'tmp'), { recursive: true, mode: 0o700 });
  // Where the user's own process looks; what a user's setting names may be wanted afterwards.
  if (!options.controller && opened.config.certificates?.directory === undefined)
    await recordOutside(directory, [files.keyPairDirectory]);
  const { context } = opened.api;
  io.emit({ type: 'session.started', session: id, context, targets: targetsOf(found.target) });
  try {
    await run({ ...found, id, started, machine, opened, files, options, io });
  } finally {
    await removeLocalFiles(directory);
  }
}

/** The order of these steps is explained in docs/architecture.md; each of them leaves marks by which `putBack` undoes it. */
async function run(session: Session): Promise<void> {
  const { id, opened, target, io } = session;
  const { api } = opened;
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  const held: HeldLease[] = [];
  const emit = withHealth(io.emit, held, target.services.map(serviceName));
  const routing = routingOf(session, emit, signal);
  let route: OpenRoute | undefined;
  let supervisor: Supervisor | undefined;
  let failure: unknown;
  let begun = false;
  await using standing = new AsyncDisposableStack();
  try {
    const pairs = await readKeyPairs(keyPairSearch(session), io.emit);
    const [pair] = pairs.values();
    if (pair) await writeFoundPair(session.files.keyPairDirectory, pair, io.emit);
    const prepared = await prepareController(session, pairs, emit, signal, () => route);
    supervisor = prepared?.supervisor;
    const keyPairDirectories = [session.files.keyPairDirectory, ...(prepared?.hardCoded ?? [])];
    begun = true;
    const openingRoute = async (): Promise<void> => {
      await holdLeases(session, (lease) => held.push(standing.use(lease)), ending);
      if (target.services.length > 0) route = await openRoute(routing, session.ways);
    };
    await allOrNone([openingRoute(), supervisor?.build() ?? Promise.resolve()], ending);
    await confirmHeld(held, signal);
    if (route) {
      const cuttingOver = cutOver(routing, route, pairs);
      standing.use(followMends(routing, route, cuttingOver));
      await cuttingOver;
    }
    const pausing = await pauseManager(target)?.apply({ api, sessionId: id, emit, signal });
    // A manager needs longer to come up than the other one to hear that it has to go.
    await allDone([pausing?.terminating ?? Promise.resolve(), supervisor?.start() ?? Promise.resolve()]);
    route?.gateways.release();
    if ((await pausing?.ended) === false) emit({ type: 'warning', message: STUBBORN_POD });
    const serving = { held, pairs, keyPairDirectories, route, supervisor };
    await serve({ ...session, io: { ...io, emit } }, serving, signal);
    ending.signal.throwIfAborted();
  } catch (error) {
    failure = error;
  }
  ending.abort();
  const failed = failure !== undefined;
  await putBack({ api, session: id, target, route, supervisor, begun, failed, io: { ...io, emit } }).catch(
    (error) => {
      if (failure === undefined) throw withTheWayBack(error);
      // What went wrong first is what the user has to know; this comes on top.
      emit({
        type: 'warning',
        message: `Not everything could be put back: ${messageOf(error)}`,
        hint: 'devloop down',
      });
    },
  );
  if (failure !== undefined) throw failure;
}

/** Without the API server, say, nothing can be put back; who reads why has to know that it is still to be done. */
function withTheWayBack(error: unknown): unknown {
  if (!(error instanceof DevloopError) || error.code === 'undo.incomplete') return error;
  const hint = [error.hint, 'What is left is put back by: devloop down'].filter(Boolean).join('\n');
  return new DevloopError(error.code, `Not everything could be put back: ${error.message}`, {
    hint,
    cause: error,
  });
}

const STUBBORN_POD =
  'A Pod of the in-cluster manager does not end; kube-apiserver may go on calling it over open connections.';

/** The Lease tells everybody how the session does. */
function withHealth(emit: Emit, held: HeldLease[], services: string[]): Emit {
  let health = STARTING;
  return (event) => {
    emit(event);
    const told = wordsFor(health);
    health = healthAfter(health, event, services);
    const words = wordsFor(health);
    if (words !== told) for (const lease of held) void lease.update({ health: words });
  };
}

async function prepareController(
  session: Session,
  pairs: KeyPairs,
  emit: Emit,
  signal: AbortSignal,
  route: () => OpenRoute | undefined,
): Promise<{ supervisor: Supervisor; hardCoded: string[] } | undefined> {
  if (!session.options.controller) return undefined;
  const { plan, ...planned } = await planController(controllerInputs(session, pairs), session.io);
  await writeNeededFiles(planned.needed);
  // The supervisor looks again when it starts; here it can still be said before anything is changed.
  if (plan.webhook) await requireFreePort(plan.webhook.port);
  const [pair] = pairs.values();
  const hardCoded = pair ? await writeHardCoded(session.files, planned.hardCoded, pair, emit) : [];
  const gate: Gate = {
    hold: () => route()?.gateways.hold(),
    release: () => route()?.gateways.release(),
    failFast: (why, ms) => route()?.gateways.failFast(why, ms),
  };
  return { supervisor: createSupervisor(plan, { gate, emit, signal }), hardCoded };
}

function routingOf({ id, opened, target, options, io }: Session, emit: Emit, signal: AbortSignal): Routing {
  const settings = routeSettings(options, opened);
  return { api: opened.api, sessionId: id, target, settings, env: io.env, ask: io.ask, emit, signal };
}
