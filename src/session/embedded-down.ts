import { rm } from 'node:fs/promises';
import { DevloopError } from '../errors.ts';
import { exists } from '../machine/own-files.ts';
import { notice } from '../report/notices/catalogue.ts';
import { checkoutRoot } from './context/checkout.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import type { LocalSession } from './context/local-sessions.ts';
import { ENDING } from './context/observed.ts';
import type { Io } from './context/options.ts';
import { endOrphans, reportOrphans } from './context/session-directories.ts';
import { isEnding } from './control/is-ending.ts';
import { type EmbeddedPlace, holderOf, ifOver, placeOf, sessionOf } from './embedded/place.ts';
import { stopLocalSession } from './end/stop-local.ts';

/** Removes what `up --embedded` keeps of this checkout, and ends its session before. */
export async function downEmbedded({ dryRun }: { dryRun: boolean }, io: Io): Promise<void> {
  const root = await checkoutRoot(io.cwd);
  const machine = await thisMachine(io.env);
  const place = placeOf(machine, root);
  await (dryRun ? reportOrphans : endOrphans)(machine, io.emit, 'embedded');
  if (!dryRun) await endSession(machine, place, io);
  const removed: boolean[] = [];
  for (const [what, path] of [
    ['data', place.kept],
    ['kubeconfig', place.kubeconfig],
  ] as const) {
    if (!(await exists(path))) continue;
    if (!dryRun) await rm(path, { recursive: true, force: true });
    io.emit(notice('embedded.removed', { what, path, dryRun }));
    removed.push(true);
  }
  if (removed.length === 0) io.emit(notice('embedded.nothing', { checkout: root }));
}

/** Ends a session with an API server of its own, or what a crashed one has left, and keeps what is kept. Throws 'session.held' if it cannot be ended from here. */
export async function endEmbedded(
  session: LocalSession,
  { dryRun }: { dryRun: boolean },
  io: Io,
): Promise<void> {
  const machine = await thisMachine(io.env);
  await (dryRun ? reportOrphans : endOrphans)(machine, io.emit, 'embedded');
  if (!dryRun) await endSession(machine, placeOf(machine, session.checkout), io);
  io.emit(notice('embedded.ended', { session: session.id, dryRun }));
}

/** Throws 'session.held' if there is a session that cannot be ended from here. */
async function endSession(machine: LocalMachine, place: EmbeddedPlace, io: Io): Promise<void> {
  const owner = await holderOf(machine, place);
  if (owner === undefined) return await rm(place.running, { recursive: true, force: true });
  const { pid, host } = owner;
  const sessionId = host === machine.host ? await sessionOf(machine, pid) : undefined;
  const health = sessionId !== undefined && (await isEnding(machine, sessionId, io)) ? ENDING : '';
  const holder = { ...owner, user: machine.user, since: '', route: '', targets: [], health };
  const found = { sessionId: sessionId ?? '', identity: '', holder, alive: true, local: true };
  if (sessionId !== undefined && (await stopLocalSession(found, machine, io))) return;
  throw new DevloopError(
    'session.held',
    `The API server of this checkout belongs to pid ${pid} on ${host}, which is only starting, or cannot be ended from here.`,
    { hint: host === machine.host ? `kill ${pid}` : ifOver(place.running) },
  );
}
