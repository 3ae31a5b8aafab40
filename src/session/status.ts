import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { Lease } from '../cluster/api/objects.ts';
import { findMarked, type Marked, unseenText } from '../cluster/takeover/find-marked.ts';
import { holderOf } from '../cluster/takeover/lease.ts';
import type { SessionStatus } from '../report/events.ts';
import { openContext } from './context/context.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import type { Io, StatusOptions } from './context/options.ts';

const LOOK_EVERY_MS = 2_000;

/** Who has taken over what, read from the marks and Leases of the cluster alone. */
export async function status(options: StatusOptions, io: Io): Promise<void> {
  const quiet: Io = { ...io, emit: (event) => event.type !== 'discovered' && io.emit(event) };
  await using opened = await openContext(options, quiet, 'optional');
  const machine = await thisMachine(io.env);
  for (let last = ''; ; ) {
    const sessions = await readSessions(opened.api, opened.wanted.namespace, machine, io);
    const text = JSON.stringify(sessions);
    if (text !== last) io.emit({ type: 'status', sessions });
    last = text;
    if (!options.watch) return;
    await pause(LOOK_EVERY_MS, undefined, { signal: io.signal }).catch(() => {});
    if (io.signal.aborted) return;
  }
}

async function readSessions(
  api: ClusterApi,
  namespace: string | undefined,
  machine: LocalMachine,
  io: Io,
): Promise<SessionStatus[]> {
  const { marked, unseen } = await findMarked(api, [namespace ?? api.namespace], { secrets: false });
  if (unseen.length > 0)
    io.emit({
      type: 'warning',
      message: `Your account may not list ${unseenText(unseen)}; marks there cannot be seen.`,
    });
  const shown = namespace === undefined ? marked : marked.filter((one) => one.ref.namespace === namespace);
  const ids = [...new Set(shown.map((one) => one.sessionId))].sort();
  return await Promise.all(
    ids.map((id) =>
      sessionStatus(
        id,
        marked.filter((one) => one.sessionId === id),
        machine,
      ),
    ),
  );
}

/** What the holder last said of itself is no longer true. */
const GONE = 'its devloop is gone; devloop down puts everything back';

async function sessionStatus(
  session: string,
  marked: Marked[],
  machine: LocalMachine,
): Promise<SessionStatus> {
  const lease = marked.find((one) => one.ref.kind === 'Lease')?.object as Lease | undefined;
  const holder = lease && holderOf(lease);
  const objects = marked.filter((one) => one.ref.kind !== 'Lease').map((one) => one.ref);
  const state = lease === undefined ? 'unknown' : (await isLive(lease, machine)) ? 'live' : 'stale';
  return {
    session,
    holder: lease?.spec.holderIdentity ?? 'unknown',
    since: holder?.since ?? lease?.spec.acquireTime ?? '',
    route: holder?.route ?? 'unknown',
    targets: holder?.targets ?? objects,
    state,
    health: state === 'stale' ? GONE : (holder?.health ?? 'unknown'),
    objects,
  };
}

/** One look cannot observe a Lease standing still: on this machine the process decides, elsewhere the age of the last renewal is all there is. */
async function isLive(lease: Lease, machine: LocalMachine): Promise<boolean> {
  const holder = holderOf(lease);
  if (holder && machine.isHere(holder)) return await machine.isRunning(holder);
  const age = Date.now() - Date.parse(lease.spec.renewTime ?? '');
  return age < (lease.spec.leaseDurationSeconds ?? 15) * 1000;
}
