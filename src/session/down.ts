import { join } from 'node:path';
import { noCheckoutFacts } from '../checkout/facts.ts';
import { undefinedIfForbidden } from '../cluster/api/errors.ts';
import { isWorkload } from '../cluster/api/kinds.ts';
import type { Lease } from '../cluster/api/objects.ts';
import type { Workload } from '../cluster/api/workloads.ts';
import { findMarked, type SearchResult } from '../cluster/takeover/find-marked.ts';
import type { LeaseHolder } from '../cluster/takeover/lease-holder.ts';
import { ownLeases } from '../cluster/takeover/own-leases.ts';
import type { NotStarted } from '../cluster/takeover/pause/why-not-started.ts';
import type { RestoreResult } from '../cluster/takeover/restore-steps.ts';
import type { Work } from '../cluster/work.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import type { TakenObject } from '../operator/closed-webhooks.ts';
import { discover } from '../operator/discover.ts';
import { type Reconciler, splitName, type Target } from '../operator/target.ts';
import { inNamespaces } from '../phrases.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { describe } from '../report/object-name.ts';
import { type CommandContext, openContext } from './context/context.ts';
import { embeddedHere } from './context/embedded-here.ts';
import { heldBy, liveHolder, type Traces } from './context/holders.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import { allTaken, namedSessions, namesGiven, namesIn, type ObjectNames, takenBy } from './context/named.ts';
import { inNamedNamespaces } from './context/namespaces.ts';
import { ENDING } from './context/observed.ts';
import type { DownOptions, Io } from './context/options.ts';
import { searchedIn, unsearched } from './context/search.ts';
import { endOrphans, reportOrphans } from './context/session-directories.ts';
import { askSession } from './control/client.ts';
import { isEnding } from './control/is-ending.ts';
import { endEmbedded } from './embedded-down.ts';
import { answerMeans } from './end/answer-instead.ts';
import { printRestore } from './end/dry-run.ts';
import { warnOf } from './end/outcome.ts';
import { restoreDead } from './end/restore-dead.ts';
import { changesOf, MANAGER_READY_SECONDS } from './end/restore-pass.ts';
import { stopLocalSession } from './end/stop-local.ts';
import { refuseUnfinished, reportKept } from './end/unfinished.ts';

/** Restores what devloop sessions changed in this cluster, if they are dead or run on this machine. */
export async function down(options: DownOptions, io: Io): Promise<void> {
  const own = await embeddedHere(options, io);
  if (own !== undefined) return await endEmbedded(own, options, io);
  await using context = await openContext(options, io, 'optional');
  const machine = await thisMachine(io.env);
  const namespaces = namespacesToSearch(context);
  // Only a namespace from the command line has to exist. One from devloop.yaml may have been deleted with the operator, and the session may
  // have left changes elsewhere.
  const named = namesGiven(options.given);
  const typed = { api: context.api, wanted: named };
  const finding = inNamedNamespaces(typed, findMarked(context.api, namespaces, { secrets: false }));
  const found = await unlessInterrupted(finding, io.signal);
  for (const warning of unsearched(found, named.namespace)) io.emit(warning);
  const sessions = sessionsIn(found, named);
  if (sessions.length === 0 && !found.blind) io.emit(nothingToRestore(context, found, named));
  const command: DownCommand = { context, namespaces, options, machine, io };
  const outcomes: Outcome[] = [];
  // Judging a session takes up to 15 s, so they are judged at the same time.
  const judged = sessions.map((session) => ({ session, holder: holderOf(command, session) }));
  // They are awaited below; until then, a failure must not count as unhandled.
  for (const { holder } of judged) holder.catch(() => {});
  for (const [index, { session, holder }] of judged.entries()) {
    const ending = holder
      .then((one) => one ?? holderSince(command, session, index > 0))
      .then((one) => endSession(command, session, one));
    // If one session cannot be restored, the next one still is.
    const outcome = await ending.catch((error): Outcome => {
      io.signal.throwIfAborted();
      return { left: [], error };
    });
    outcomes.push(outcome);
  }
  await (options.dryRun ? reportOrphans : endOrphans)(machine, io.emit);
  if (found.blind) throw cannotTell(context, found, named);
  conclude(outcomes, io.emit);
}

interface DownCommand {
  context: CommandContext;
  namespaces: string[];
  options: DownOptions;
  machine: LocalMachine;
  io: Io;
}

interface Outcome {
  /** Objects that somebody else changed, too. */
  left: RestoreResult[];
  notStarted?: NotStarted[];
  error?: unknown;
}

/** Throws the first failure as the command's error, and prints the others as warnings. */
function conclude(outcomes: Outcome[], emit: Emit): void {
  const failures = outcomes.flatMap((one) => ('error' in one ? [one.error] : []));
  try {
    refuseUnfinished(
      outcomes.flatMap(({ left }) => left),
      outcomes.flatMap(({ notStarted = [] }) => notStarted),
    );
  } catch (error) {
    failures.push(error);
  }
  for (const error of failures.slice(1)) warnOf(error, emit);
  if (failures.length > 0) throw failures[0];
}

/** The session's holder, if it is alive. With --take-over, that does not matter. */
async function holderOf(command: DownCommand, session: Traces): Promise<LeaseHolder | undefined> {
  const { context, options, machine, io } = command;
  if (options.takeOver) return undefined;
  const { emit, signal } = io;
  const look = (): Promise<SearchResult> => findAgain(command, session);
  return await liveHolder({ api: context.api, emit, signal }, machine, session, look);
}

/**
 * The holder of a session that was judged dead, if it is alive after all. Sessions are restored one after another, so the verdict may be
 * minutes old, and a computer that was asleep may have woken up. Only a Lease that has changed since it was listed is judged again, or one that
 * was not there yet.
 */
async function holderSince(
  command: DownCommand,
  session: Traces,
  isLater: boolean,
): Promise<LeaseHolder | undefined> {
  const { api } = command.context;
  const leases = ownLeases(session.objects);
  if (leases.length === 0) return await holderOf(command, session);
  // The first one is restored as soon as it is judged.
  if (!isLater) return undefined;
  const isAsListed = leases.map(async ({ ref, object }) => {
    const now = await api.get<Lease>(ref).catch(undefinedIfForbidden);
    return now === undefined || isSameTerm(now, object as Lease);
  });
  const areAsListed = (await Promise.all(isAsListed)).every(Boolean);
  return areAsListed ? undefined : await holderOf(command, session);
}

function isSameTerm(now: Lease, before: Lease): boolean {
  return now.metadata.uid === before.metadata.uid && now.spec.renewTime === before.spec.renewTime;
}

function placesOf({ namespaces }: DownCommand, { objects }: Traces): string[] {
  return [...new Set([...namespaces, ...objects.flatMap(({ ref }) => ref.namespace ?? [])])];
}

async function findAgain(command: DownCommand, session: Traces): Promise<SearchResult> {
  return await findMarked(command.context.api, placesOf(command, session), { sessionId: session.sessionId });
}

async function endSession(
  command: DownCommand,
  session: Traces,
  holder: LeaseHolder | undefined,
): Promise<Outcome> {
  const { context, options, machine, io } = command;
  const { sessionId, objects } = session;
  const { emit, signal } = io;
  const { api } = context;
  const startedAt = performance.now();
  const places = placesOf(command, session);
  const look = (): Promise<SearchResult> => findAgain(command, session);
  if (holder && !holder.local) throw heldBy(holder, undefined);
  const work: Work = { api, sessionId, emit, signal };
  if (options.dryRun) return { left: await printRestore(work, await look(), holder) };
  const restored = (changes: number): void =>
    emit({ type: 'session.restored', session: sessionId, changes, ms: performance.now() - startedAt });
  if (holder) {
    const asked = restoredBy(sessionId, command);
    if (!(await stopLocalSession(await asItIs(holder, command), machine, io)))
      throw heldBy(holder, undefined);
    if ((await look()).marked.length === 0) {
      const own = await asked;
      if (own) emit(own);
      else restored(changesOf(objects));
      return { left: [] };
    }
  }
  const taken = takenBy(sessionId, objects);
  const mayAnswer = options.takeOver;
  const dead = { namespaces: places, taken, mayAnswer, isAwaited: true, target: () => targetOf(work, taken) };
  const result = await restoreDead(work, dead, answerMeans(context, io, options), {
    managerReadySeconds: MANAGER_READY_SECONDS,
  });
  reportKept(result, emit);
  restored(result.changes);
  return { left: result.left, notStarted: result.notStarted };
}

/** The holder with what the session itself says of its health, if it is ending. */
async function asItIs(found: LeaseHolder, { machine, io }: DownCommand): Promise<LeaseHolder> {
  const { holder, sessionId } = found;
  if (holder === undefined || !(await isEnding(machine, sessionId, io))) return found;
  return { ...found, holder: { ...holder, health: ENDING } };
}

/** What the session itself says when it has restored everything; undefined if it cannot be asked. */
async function restoredBy(
  id: string,
  { machine, io: { signal } }: DownCommand,
): Promise<DevloopEvent | undefined> {
  const session = { id, directory: join(machine.stateDirectory, id) };
  return await askSession(session, 'restored', {}, { emit() {}, signal }).catch(() => undefined);
}

/** Of several workloads, the Services' Pods show which is the manager; the others are what the session paused besides. */
async function targetOf({ api }: Work, taken: TakenObject[]): Promise<Target> {
  const nameOf = ({ ref }: TakenObject): string => `${ref.namespace}/${ref.name}`;
  const services = taken.filter(({ ref }) => ref.kind === 'Service').map(nameOf);
  const workloads = taken.filter(({ ref }) => isWorkload(ref.kind));
  const deployment = workloads.length === 1 ? nameOf(workloads[0]!) : undefined;
  const names = { services, deployment };
  const facts = noCheckoutFacts();
  const target = await discover({ api, names, facts, emit: () => {}, onUnusablePort: () => {} });
  const { manager } = target;
  const reconcilers = workloads.flatMap(({ ref, object }): Reconciler[] => {
    if (manager === undefined || object === undefined || describe(ref) === describe(manager.ref)) return [];
    return [{ ref, object: object as Workload }];
  });
  return { ...target, reconcilers };
}

/** The namespaces to search if the account is not allowed to list the whole cluster. */
function namespacesToSearch({ api, wanted }: CommandContext): string[] {
  const own = wanted.namespace ?? api.namespace;
  return [...new Set([api.namespace, own, ...wanted.services.map((name) => splitName(name, own).namespace)])];
}

/**
 * The sessions that hold one of the objects that the user named, or all sessions; each is restored as a whole. Those that have left only
 * Leases come last: there is nothing to restore, and anybody can create such a Lease.
 */
function sessionsIn({ marked }: SearchResult, named: ObjectNames): Traces[] {
  const all = [...namedSessions(marked, named)].map(([sessionId, objects]) => ({ sessionId, objects }));
  return all.sort((a, b) => Number(changesOf(a.objects) === 0) - Number(changesOf(b.objects) === 0));
}

/** The error for an account that is not allowed to list anything. Without an error, a script would conclude that everything is restored. */
function cannotTell(context: CommandContext, found: SearchResult, { namespace }: ObjectNames): DevloopError {
  const { context: name, namespaces = [] } = searchedIn(context, found, namespace);
  const message = `devloop cannot tell whether a session has changed anything ${inNamespaces(namespaces)} (context ${name}): your account is not allowed to list the objects that a session can change.`;
  return new DevloopError('cluster.forbidden', message, {
    hint: `If the operator is in another namespace: ${AGAIN} -n NAMESPACE\nOtherwise use an account that is allowed to list these objects.`,
  });
}

function nothingToRestore(context: CommandContext, found: SearchResult, typed: ObjectNames): DevloopEvent {
  const searched = searchedIn(context, found, typed.namespace);
  const named = namesIn(typed);
  return notice('restore.nothing', {
    ...searched,
    incomplete: searched.incomplete ?? false,
    ...(named && { named }),
    held: allTaken(found.marked),
  });
}
