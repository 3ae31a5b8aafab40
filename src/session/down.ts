import { describe, isWorkload, type Kind, WORKLOAD_KINDS } from '../cluster/api/kinds.ts';
import { leasedObject } from '../cluster/names.ts';
import { type Found, findMarked, type Marked } from '../cluster/takeover/find-marked.ts';
import { isChanged } from '../cluster/takeover/restore.ts';
import type { Work } from '../cluster/work.ts';
import type { TakenObject } from '../operator/closed-webhooks.ts';
import { discover } from '../operator/discover.ts';
import { noCheckoutFacts } from '../operator/sources.ts';
import { splitName, type Target, type TargetNames } from '../operator/target.ts';
import { type CommandContext, openContext } from './context/context.ts';
import { heldBy, liveHolder, type Traces } from './context/holders.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import { inNamedNamespaces } from './context/namespaces.ts';
import type { DownOptions, Io } from './context/options.ts';
import { searchedIn, unsearched } from './context/search.ts';
import { endOrphans } from './context/session-directories.ts';
import { answerMeans } from './end/answer-instead.ts';
import { printRestore } from './end/dry-run.ts';
import { changesOf, incomplete, MANAGER_READY_SECONDS, reportKept } from './end/restore.ts';
import { restoreDead } from './end/restore-dead.ts';
import { stopLocalSession } from './end/stop-local.ts';

/** Restores what devloop sessions changed in this cluster, if they are dead or run on this machine. */
export async function down(options: DownOptions, io: Io): Promise<void> {
  await using context = await openContext(options, io, 'optional');
  const machine = await thisMachine(io.env);
  const namespaces = namespacesToSearch(context);
  const finding = inNamedNamespaces(
    context,
    findMarked(context.api, namespaces, { secrets: options.dryRun }),
  );
  const found = await unlessInterrupted(finding, io.signal);
  for (const warning of unsearched(found, options.namespace)) io.emit(warning);
  const sessions = selectSessions(found.marked, (one) => isWanted(one, options, context.wanted));
  if (sessions.length === 0) {
    const { context: name, namespaces } = searchedIn(context, found, options.namespace);
    const where = namespaces === undefined ? 'in any namespace' : `in namespace ${namespaces.join(', ')}`;
    const message = `No devloop session has changed anything ${where} (context ${name}), so there is nothing to restore.`;
    io.emit({ type: 'note', message });
  }
  const command: DownCommand = { context, namespaces, options, machine, io };
  const outcomes: Outcome[] = [];
  for (const session of sessions) {
    // A session that fails does not prevent the next one from being restored.
    const outcome = await endSession(command, session).catch((error): Outcome => {
      io.signal.throwIfAborted();
      return { kept: 0, error };
    });
    outcomes.push(outcome);
  }
  if (!options.dryRun) await endOrphans(machine, io.emit);
  conclude(outcomes);
}

interface DownCommand {
  context: CommandContext;
  namespaces: string[];
  options: DownOptions;
  machine: LocalMachine;
  io: Io;
}

interface Outcome {
  /** The number of objects with fields that somebody else changed, and that were kept. */
  kept: number;
  error?: unknown;
}

function conclude(outcomes: Outcome[]): void {
  const failed = outcomes.find((one) => 'error' in one);
  if (failed) throw failed.error;
  const kept = outcomes.reduce((sum, one) => sum + one.kept, 0);
  if (kept > 0) throw incomplete(kept);
}

async function endSession(command: DownCommand, session: Traces): Promise<Outcome> {
  const { context, namespaces, options, machine, io } = command;
  const { sessionId, objects } = session;
  const { emit, signal } = io;
  const { api } = context;
  const startedAt = performance.now();
  const places = [...new Set([...namespaces, ...objects.flatMap(({ ref }) => ref.namespace ?? [])])];
  const look = (): Promise<Found> => findMarked(api, places, { sessionId });
  const holder = options.takeOver
    ? undefined
    : await liveHolder({ api, emit, signal }, machine, session, look);
  if (holder && !holder.local) throw heldBy(holder, undefined);
  if (options.dryRun) {
    printRestore(api.context, session, holder, emit);
    return { kept: 0 };
  }
  const restored = (changes: number): void =>
    emit({ type: 'session.restored', session: sessionId, changes, ms: performance.now() - startedAt });
  if (holder) {
    if (!(await stopLocalSession(holder, io))) throw heldBy(holder, undefined);
    if ((await look()).marked.length === 0) {
      restored(changesOf(objects));
      return { kept: 0 };
    }
  }
  const work: Work = { api, sessionId, emit, signal };
  const taken = takenBy(session);
  const mayAnswer = options.takeOver;
  const dead = { namespaces: places, taken, mayAnswer, isAwaited: true, target: () => targetOf(work, taken) };
  const result = await restoreDead(work, dead, answerMeans(context, io, {}), {
    readySeconds: MANAGER_READY_SECONDS,
  });
  reportKept(result, emit);
  restored(result.changes);
  return { kept: result.left.length };
}

const TAKEN_KINDS: Kind[] = ['Service', ...WORKLOAD_KINDS];

/** What the session took over: what carries its mark, and what only its Leases name, since it is restored already. */
function takenBy({ sessionId, objects }: Traces): TakenObject[] {
  const changed = objects.filter(({ ref }) => TAKEN_KINDS.includes(ref.kind) && isChanged(ref, sessionId));
  const leased = objects.flatMap(({ ref }) =>
    ref.kind === 'Lease' ? (leasedObject(ref, TAKEN_KINDS) ?? []) : [],
  );
  const all: TakenObject[] = [...leased.map((ref) => ({ ref })), ...changed];
  return [...new Map(all.map((one) => [describe(one.ref), one])).values()];
}

async function targetOf({ api }: Work, taken: TakenObject[]): Promise<Target> {
  const named = (isWanted: (kind: Kind) => boolean): string[] =>
    taken.flatMap(({ ref }) => (isWanted(ref.kind) ? [`${ref.namespace}/${ref.name}`] : []));
  const names = { services: named((kind) => kind === 'Service'), deployment: named(isWorkload)[0] };
  return await discover({ api, names, facts: noCheckoutFacts(), emit: () => {}, onUnusablePort: () => {} });
}

/** For an account that is not allowed to list the whole cluster. */
function namespacesToSearch({ api, wanted }: CommandContext): string[] {
  const own = wanted.namespace ?? api.namespace;
  return [...new Set([api.namespace, own, ...wanted.services.map((name) => splitName(name, own).namespace)])];
}

/** If the user named objects, only the sessions that changed one of them; each is restored as a whole. */
function isWanted({ ref }: Marked, options: DownOptions, wanted: TargetNames): boolean {
  const isNamed = (name: string): boolean => name === `${ref.namespace}/${ref.name}` || name === ref.name;
  if (options.services.length > 0) return ref.kind === 'Service' && options.services.some(isNamed);
  if (options.deployment !== undefined) return isWorkload(ref.kind) && isNamed(options.deployment);
  if (options.namespace !== undefined) return ref.namespace === wanted.namespace;
  return true;
}

function selectSessions(marked: Marked[], isSelected: (one: Marked) => boolean): Traces[] {
  const ids = new Set(marked.filter(isSelected).map((one) => one.sessionId));
  return [...ids].map((sessionId) => ({
    sessionId,
    objects: marked.filter((one) => one.sessionId === sessionId),
  }));
}
