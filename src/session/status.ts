import { sleep } from '../async.ts';
import { isTransient } from '../cluster/api/errors.ts';
import type { ObjectRef } from '../cluster/api/kinds.ts';
import type { Lease } from '../cluster/api/objects.ts';
import { findMarked, type MarkedObject, type SearchResult } from '../cluster/takeover/find-marked.ts';
import { holderOf, LEASE_SECONDS } from '../cluster/takeover/lease.ts';
import { isAlive, isRenewed } from '../cluster/takeover/lease-holder.ts';
import { ownLeases } from '../cluster/takeover/own-leases.ts';
import { messageOf } from '../errors.ts';
import type { DevloopEvent } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { SessionStatus } from '../report/session-status.ts';
import { type CommandContext, openContext } from './context/context.ts';
import { inEmbedded } from './context/embedded-here.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import { allTaken, namedSessions, namesGiven, namesIn, type ObjectNames } from './context/named.ts';
import { inNamedNamespaces, mayExist } from './context/namespaces.ts';
import type { Io, StatusOptions } from './context/options.ts';
import { searchedIn, unsearched } from './context/search.ts';
import { withoutDiscoveries } from './context/without-discoveries.ts';

const LOOK_EVERY_MS = 2_000;

/** Lists who has taken over what, according to the labels and Leases in the cluster. */
export async function status(options: StatusOptions, io: Io): Promise<void> {
  const quiet: Io = { ...io, emit: withoutDiscoveries(io.emit) };
  await using context = await openContext(await inEmbedded(options, io), quiet, 'optional');
  const look: Look = { context, machine: await thisMachine(io.env), io, dead: new Map() };
  const named = namesGiven(options.given);
  let last = '';
  do {
    const reading = readSessions(look, named);
    const events = await unlessInterrupted(last === '' ? reading : orWarning(reading), io.signal);
    const text = JSON.stringify(events);
    if (text !== last) for (const event of events) io.emit(event);
    last = text;
  } while (options.watch && (await sleep(LOOK_EVERY_MS, io.signal)));
}

/** Once `status --watch` has shown something, it keeps running while the API server restarts. */
export async function orWarning(reading: Promise<DevloopEvent[]>): Promise<DevloopEvent[]> {
  try {
    return await reading;
  } catch (error) {
    if (!isTransient(error)) throw error;
    return [notice('search.failed', { cause: messageOf(error) })];
  }
}

export interface Look {
  context: CommandContext;
  machine: LocalMachine;
  io: Io;
  /**
   * The last renewal of each Lease that was not renewed while it was watched, by the uid of the Lease. Until its renewal time changes, the
   * Lease need not be watched again.
   */
  dead: Map<string, string>;
}

/** The sessions that hold the objects that the user named. Warnings about places that could not be searched come first. */
export async function readSessions(look: Look, typed: ObjectNames): Promise<DevloopEvent[]> {
  const { context } = look;
  const { api, wanted } = context;
  const finding = findMarked(api, [typed.namespace ?? wanted.namespace ?? api.namespace], { secrets: false });
  const found: SearchResult = await inNamedNamespaces({ api, wanted: typed }, finding);
  const namespace = typed.namespace ?? (await configuredNamespace(context));
  const named: ObjectNames = { ...typed, namespace };
  const shown = [...namedSessions(found.marked, named)];
  const sessions = await Promise.all(shown.map(([id, marked]) => sessionStatus(id, marked, look)));
  const names = namesIn(named);
  const others = sessions.length > 0 || names === undefined ? [] : allTaken(found.marked);
  const searched = {
    ...searchedIn(context, found, namespace),
    ...(names && { names }),
    ...(others.length > 0 ? { others } : {}),
  };
  return [...unsearched(found, namespace), { type: 'status', sessions, searched }];
}

/**
 * The namespace from the settings; undefined if it does not exist. It may have been deleted together with the operator, and a session may
 * have left objects in other namespaces, too.
 */
async function configuredNamespace({ api, wanted }: CommandContext): Promise<string | undefined> {
  const { namespace } = wanted;
  return namespace !== undefined && (await mayExist(api, namespace)) ? namespace : undefined;
}

/** Replaces what the session last wrote about its health, which is no longer true. */
const GONE = 'the devloop process is gone; run `devloop down` to restore the cluster';

async function sessionStatus(sessionId: string, marked: MarkedObject[], look: Look): Promise<SessionStatus> {
  const [found] = ownLeases(marked);
  const lease = found?.object as Lease | undefined;
  const holder = lease && holderOf(lease);
  const objects = marked.filter((one) => one.ref.kind !== 'Lease').map((one) => one.ref);
  const state = lease === undefined ? 'unknown' : (await isLive(lease, found!.ref, look)) ? 'live' : 'stale';
  return {
    session: sessionId,
    holder: lease?.spec.holderIdentity ?? 'unknown',
    since: holder?.since ?? lease?.spec.acquireTime ?? '',
    route: holder?.route ?? 'unknown',
    targets: holder?.targets ?? objects,
    state,
    health: state === 'stale' ? GONE : (holder?.health ?? 'unknown'),
    ...(holder?.account !== undefined && { account: holder.account }),
    ...(holder?.faults !== undefined && { faults: holder.faults }),
    objects,
  };
}

/**
 * For display, a recent renewal is enough, so that a live session is shown at once. This compares the clocks of two machines, which may
 * differ. A renewal that seems old may be that of a live session, so such a Lease is watched for as long as it is valid. A dead session may
 * be shown as live for a while if its machine's clock is ahead. Nothing else depends on this: `up` and `down` compare no clocks.
 */
export async function isLive(
  lease: Lease,
  ref: ObjectRef,
  { context, machine, io, dead }: Look,
): Promise<boolean> {
  return await isAlive(lease, machine, async () => {
    const { renewTime = '' } = lease.spec;
    const uid = lease.metadata.uid ?? ref.name;
    // A Lease that was not renewed while it was watched is dead, whatever the clocks show.
    if (dead.get(uid) === renewTime) return false;
    const ageMs = Date.now() - Date.parse(renewTime);
    if (ageMs >= 0 && ageMs < LEASE_SECONDS * 1000) return true;
    const renewed = await isRenewed({ api: context.api, emit: io.emit, signal: io.signal }, ref, lease);
    if (!renewed) dead.set(uid, renewTime);
    return renewed;
  });
}
