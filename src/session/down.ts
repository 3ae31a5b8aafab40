import type { ClusterApi } from '../cluster/api/client.ts';
import type { Kind } from '../cluster/api/kinds.ts';
import { isOwnService } from '../cluster/names.ts';
import { findMarked, type Marked, unseenText } from '../cluster/takeover/find-marked.ts';
import type { LeaseHolder } from '../cluster/takeover/lease-holder.ts';
import type { Work } from '../cluster/work.ts';
import { openContext } from './context/context.ts';
import { heldBy, readHolderOf } from './context/holders.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import type { DownOptions, Io } from './context/options.ts';
import { endOrphans } from './context/session-directories.ts';
import { waitUntilAnswering } from './end/answering.ts';
import { endLocal } from './end/end-local.ts';
import { incomplete } from './end/put-back.ts';
import { changesOf, reportLeft, restore } from './end/restore.ts';

const READY_SECONDS = 90;

/** Puts back everything that devloop changed in this cluster and whose session is dead, or runs here and can be told to end. */
export async function down(options: DownOptions, io: Io): Promise<void> {
  await using opened = await openContext(options, io, 'optional');
  const { api, wanted } = opened;
  const machine = await thisMachine(io.env);
  const namespaces = [
    ...new Set([
      api.namespace,
      ...(wanted.namespace ? [wanted.namespace] : []),
      ...wanted.services.filter((one) => one.includes('/')).map((one) => one.split('/')[0]!),
    ]),
  ];
  const { marked, unseen } = await findMarked(api, namespaces);
  if (unseen.length > 0) {
    io.emit({
      type: 'warning',
      message: `Your account may not list ${unseenText(unseen)}; marks there cannot be seen.`,
      hint: 'Name the namespace with --namespace if it is another one.',
    });
  }
  const sessions = groupBySession(
    marked.filter((one) => isWanted(one, options, wanted)),
    marked,
  );
  if (sessions.size === 0) {
    io.emit({ type: 'note', message: 'Nothing is taken over here; the cluster is as it should be.' });
    if (!options.dryRun) await endOrphans(machine, io.emit);
    return;
  }
  const refused: LeaseHolder[] = [];
  const failures: unknown[] = [];
  let left = 0;
  for (const [session, objects] of sessions) {
    // What fails in one session must not keep the next one from being put back.
    const outcome = await endSession(api, session, objects, { namespaces, options, machine, io }).catch(
      (error) => {
        io.signal.throwIfAborted();
        failures.push(error);
        return 0;
      },
    );
    if (typeof outcome === 'number') left += outcome;
    else refused.push(outcome);
  }
  if (!options.dryRun) await endOrphans(machine, io.emit);
  if (failures.length > 0) throw failures[0];
  if (refused[0]) throw heldBy(refused[0], undefined);
  if (left > 0) throw incomplete(left);
}

interface Surroundings {
  namespaces: string[];
  options: DownOptions;
  machine: LocalMachine;
  io: Io;
}

/** Resolves to the number of objects of which something was kept, or to the living holder who was not disturbed. */
async function endSession(
  api: ClusterApi,
  session: string,
  objects: Marked[],
  { namespaces, options, machine, io }: Surroundings,
): Promise<number | LeaseHolder> {
  const started = performance.now();
  if (options.dryRun) {
    for (const one of objects) {
      const [action, object] = [plannedAction(one), one.ref];
      io.emit({ type: 'change', action, object, detail: `session ${session}`, dryRun: true });
    }
    return 0;
  }
  const spaces = [
    ...new Set([
      ...namespaces,
      ...objects.map((one) => one.ref.namespace).filter((one) => one !== undefined),
    ]),
  ];
  const occupant = options.takeOver ? undefined : await livingOccupant(api, session, objects, machine, io);
  if (occupant) {
    if (!(occupant.local && (await endLocal(session, occupant, io)))) return occupant;
    if ((await findMarked(api, spaces, { sessionId: session })).marked.length === 0) {
      io.emit({
        type: 'session.restored',
        session,
        changes: changesOf(objects),
        ms: performance.now() - started,
      });
      return 0;
    }
  }
  const services = objects
    .map(({ ref }) => ref)
    .filter((ref) => ref.kind === 'Service' && !isOwnService(ref, session));
  const afterServices = (): Promise<void> => waitUntilAnswering(work, services);
  const work: Work = { api, sessionId: session, emit: io.emit, signal: io.signal };
  const settings = { readySeconds: READY_SECONDS, afterServices };
  const restored = await restore(work, spaces, settings);
  reportLeft(restored, io.emit);
  io.emit({ type: 'session.restored', session, changes: restored.changes, ms: performance.now() - started });
  return restored.left.length;
}

/** What is the user's is put back; what devloop made goes. Pure. */
export function plannedAction({ ref, sessionId }: Pick<Marked, 'ref' | 'sessionId'>): 'restore' | 'delete' {
  return CHANGED_KINDS.has(ref.kind) && !isOwnService(ref, sessionId) ? 'restore' : 'delete';
}

const CHANGED_KINDS = new Set<Kind>(['Deployment', 'Service', 'Endpoints']);

async function livingOccupant(
  api: ClusterApi,
  session: string,
  objects: Marked[],
  machine: LocalMachine,
  io: Io,
): Promise<LeaseHolder | undefined> {
  const leases = objects.filter((one) => one.ref.kind === 'Lease');
  const occupants = await Promise.all(
    leases.map(({ ref }) => readHolderOf({ api, emit: io.emit, signal: io.signal }, ref, machine)),
  );
  return occupants.find((one) => one?.alive && one.sessionId === session);
}

/** With a selection, only sessions that touch what was selected. A selected object brings its whole session along. */
function isWanted(
  { ref }: Marked,
  options: DownOptions,
  wanted: { services: string[]; deployment?: string | undefined; namespace?: string | undefined },
): boolean {
  const names = (name: string): boolean => name === `${ref.namespace}/${ref.name}` || name === ref.name;
  if (options.services.length > 0) return ref.kind === 'Service' && options.services.some(names);
  if (options.deployment !== undefined) return ref.kind === 'Deployment' && names(options.deployment);
  if (options.namespace !== undefined) return ref.namespace === wanted.namespace;
  return true;
}

function groupBySession(selected: Marked[], all: Marked[]): Map<string, Marked[]> {
  const sessions = new Map<string, Marked[]>();
  for (const { sessionId: session } of selected)
    sessions.set(
      session,
      all.filter((one) => one.sessionId === session),
    );
  return sessions;
}
