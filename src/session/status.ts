import { sleep } from '../async.ts';
import type { Lease } from '../cluster/api/objects.ts';
import { findMarked, type Marked, unseenText } from '../cluster/takeover/find-marked.ts';
import { holderOf, LEASE_SECONDS } from '../cluster/takeover/lease.ts';
import type { SessionStatus } from '../report/events.ts';
import { type CommandContext, openContext } from './context/context.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import type { Io, StatusOptions } from './context/options.ts';

const LOOK_EVERY_MS = 2_000;

/** Who has taken over what, read from the labels and Leases in the cluster alone. */
export async function status(options: StatusOptions, io: Io): Promise<void> {
  const quiet: Io = { ...io, emit: (event) => event.type !== 'discovered' && io.emit(event) };
  await using context = await openContext(options, quiet, 'optional');
  const machine = await thisMachine(io.env);
  let last = '';
  do {
    const sessions = await readSessions(context, machine, io);
    const text = JSON.stringify(sessions);
    if (text !== last) io.emit({ type: 'status', sessions });
    last = text;
  } while (options.watch && (await sleep(LOOK_EVERY_MS, io.signal)));
}

async function readSessions(
  { api, wanted: { namespace } }: CommandContext,
  machine: LocalMachine,
  io: Io,
): Promise<SessionStatus[]> {
  const { marked, unseen } = await findMarked(api, [namespace ?? api.namespace], { secrets: false });
  if (unseen.length > 0) {
    const message = `Your account is not allowed to list ${unseenText(unseen)}, so sessions there are not shown.`;
    io.emit({ type: 'warning', message });
  }
  const shown = namespace === undefined ? marked : marked.filter((one) => one.ref.namespace === namespace);
  const ids = [...new Set(shown.map((one) => one.sessionId))].sort();
  const ofSession = (id: string): Marked[] => marked.filter((one) => one.sessionId === id);
  return await Promise.all(ids.map((id) => sessionStatus(id, ofSession(id), machine)));
}

/** In place of what the session last wrote about its health, which is no longer true. */
const GONE = 'the devloop process is gone; run `devloop down` to restore the cluster';

async function sessionStatus(
  sessionId: string,
  marked: Marked[],
  machine: LocalMachine,
): Promise<SessionStatus> {
  const lease = marked.find((one) => one.ref.kind === 'Lease')?.object as Lease | undefined;
  const holder = lease && holderOf(lease);
  const objects = marked.filter((one) => one.ref.kind !== 'Lease').map((one) => one.ref);
  const state = lease === undefined ? 'unknown' : (await isLive(lease, machine)) ? 'live' : 'stale';
  return {
    session: sessionId,
    holder: lease?.spec.holderIdentity ?? 'unknown',
    since: holder?.since ?? lease?.spec.acquireTime ?? '',
    route: holder?.route ?? 'unknown',
    targets: holder?.targets ?? objects,
    state,
    health: state === 'stale' ? GONE : (holder?.health ?? 'unknown'),
    objects,
  };
}

/** On this machine the process decides. Elsewhere, one look at a Lease shows no more than the age of its last renewal. */
async function isLive(lease: Lease, machine: LocalMachine): Promise<boolean> {
  const holder = holderOf(lease);
  if (holder && machine.isHere(holder)) return await machine.isRunning(holder);
  const ageMs = Date.now() - Date.parse(lease.spec.renewTime ?? '');
  return ageMs < (lease.spec.leaseDurationSeconds ?? LEASE_SECONDS) * 1000;
}
