import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { checkoutId } from '../context/checkout.ts';
import { isRunning, type LocalMachine } from '../context/local-machine.ts';
import { localSessions, type Owner, ownerOf, ownerOfSession } from '../context/local-sessions.ts';
import { claimDirectory, endOrphans } from '../context/session-directories.ts';

/** The ports of embedded API servers. */
const PORTS = { from: 20_000, count: 10_000 };

/** What a checkout's API servers have on this machine. Two checkouts have nothing in common. */
export interface EmbeddedPlace {
  /** Exists while a session runs, so that there is only one. */
  running: string;
  /** Stays, so that other programs can be configured with it. */
  kubeconfig: string;
  /** The data of `--keep`. */
  kept: string;
  /** A unix socket, at which a session listens while it runs. */
  egress: string;
  /** Used if it is free. */
  port: number;
}

export function placeOf({ stateDirectory }: LocalMachine, checkout: string): EmbeddedPlace {
  const id = checkoutId(checkout);
  const running = join(stateDirectory, `${PREFIX}${id.slice(0, 8)}`);
  // A directory with another name would be a session's.
  const lasting = join(stateDirectory, '.embedded', id);
  return {
    ...{ running, kubeconfig: `${lasting}.kubeconfig`, kept: `${lasting}.data` },
    egress: join(running, 'egress.sock'),
    port: PORTS.from + (Number.parseInt(id.slice(0, 8), 16) % PORTS.count),
  };
}

const PREFIX = 'embedded-';

/**
 * Creates the directory of the session's API server, after what a dead session has left. Throws `session.held` if there is another session of
 * the checkout. The kernel decides who is first: a directory that is not empty cannot be replaced by another one.
 */
export async function claimPlace(
  machine: LocalMachine,
  checkout: string,
  emit: Emit,
): Promise<EmbeddedPlace> {
  await endOrphans(machine, emit, 'embedded');
  const place = placeOf(machine, checkout);
  const claim = () => claimDirectory(machine, basename(place.running), { checkout, verifies: true });
  await claim().catch(async (error: unknown) => {
    if (ownerOf(place.running) === undefined) throw error;
    const owner = await holderOf(machine, place);
    if (owner !== undefined) throw await held(machine, owner, place);
    await rm(place.running, { recursive: true });
    await claim();
  });
  return place;
}

/** The process that has the checkout's API server, unless it is gone. Another machine with the same home directory is believed. */
export async function holderOf(
  machine: LocalMachine,
  { running, egress }: EmbeddedPlace,
): Promise<Owner | undefined> {
  const owner = ownerOf(running);
  if (owner === undefined) return undefined;
  const isAlive = owner.host !== machine.host || ((await isRunning(owner)) ?? (await answers(egress)));
  return isAlive ? owner : undefined;
}

/** In another container with the same files, a process cannot be seen, but its socket can be reached. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path }, () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** The session that a process of this machine runs, unless it is only starting. */
export async function sessionOf(machine: LocalMachine, pid: number): Promise<string | undefined> {
  const sessions = await localSessions(machine);
  return sessions.find(({ id }) => ownerOfSession(machine, id)?.pid === pid)?.id;
}

async function held(machine: LocalMachine, owner: Owner, { running }: EmbeddedPlace): Promise<DevloopError> {
  const { pid, host, checkout } = owner;
  const isHere = (await isRunning(owner)) === true;
  const session = isHere ? await sessionOf(machine, pid) : undefined;
  const who = `${session ? `Session ${session}` : 'Another devloop'} (pid ${pid}${isHere ? '' : ` on ${host}`})`;
  return new DevloopError(
    'session.held',
    `${who} already runs the operator of ${checkout} in an API server of its own.`,
    { hint: session ? 'devloop down' : isHere ? `kill ${pid}` : ifOver(running) },
  );
}

/** The last resort for what another machine seems to have. */
export function ifOver(running: string): string {
  return `If it is over: rm -r ${shellWord(running)}`;
}
