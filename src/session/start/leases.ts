import { createWarner } from '../../async.ts';
import { type HeldLease, type Holder, holdLease } from '../../cluster/takeover/lease.ts';
import { DevloopError } from '../../errors.ts';
import type { Emit, ObjectName } from '../../report/events.ts';
import { describeTarget, targetsOf } from '../context/holders.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import { nameOf } from '../route/routing.ts';
import type { Session } from './session.ts';

/** Holds a Lease for all that is taken over, from now on. The first one that somebody else takes or deletes ends the session. */
export async function holdLeases(
  { opened, target, ways, id, machine, io }: Session,
  keep: (lease: HeldLease) => void,
  ending: AbortController,
): Promise<void> {
  const [way] = ways;
  const holder = holderHere(machine, targetsOf(target), way === undefined ? 'none' : nameOf(way));
  // What keeps one Lease from being renewed keeps all of them.
  const warn = createWarner(io.emit);
  const emit: Emit = (event) => (event.type === 'warning' ? warn(event.message) : io.emit(event));
  const work = { api: opened.api, sessionId: id, emit, signal: io.signal };
  for (const object of targetsOf(target)) {
    const lease = await holdLease(object).apply(work, holder);
    if (lease === undefined) return;
    keep(lease);
    void lease.lost.then((by) => ending.abort(takenOver(describeTarget(target), by)));
  }
}

/** Looks now, and not at the next tick: what was put back by others meanwhile must not be taken over once more. */
export async function confirmHeld(held: HeldLease[], signal: AbortSignal): Promise<void> {
  await Promise.all(held.map((lease) => lease.update({})));
  signal.throwIfAborted();
}

function takenOver(target: string, by: string): DevloopError {
  return new DevloopError('session.lost', `${target} was taken over by ${by}.`, { hint: 'devloop status' });
}

function holderHere(
  { user, host, processStart }: LocalMachine,
  targets: ObjectName[],
  route: string,
): Holder {
  const since = new Date().toISOString();
  return { user, host, pid: process.pid, processStart, since, route, targets, health: 'starting' };
}
