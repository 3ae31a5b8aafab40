import { sleep } from '../async.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { checkoutRoot } from './context/checkout.ts';
import { chooseSession, noteOther } from './context/choose-session.ts';
import { type LocalMachine, thisMachine } from './context/local-machine.ts';
import { localSessions, withCrashed } from './context/local-sessions.ts';
import type { Io } from './context/options.ts';
import { type KeptLine, type KeptOutput, keptOutputOf, keptOutputs } from './control/kept-output.ts';
import { readOutput } from './control/read-output.ts';

export interface LogsOptions {
  /** Whether to go on with each new line, until the session ends. */
  follow: boolean;
  /** How many of the last lines; by default, all that are kept. */
  tail?: number;
  /** Only lines that are at most this old. */
  sinceMs?: number;
  /** The id of a session; by default, that of this checkout, or its last one. */
  session?: string;
}

const LOOK_EVERY_MS = 100;

/** Prints what the controller of a session has printed. Throws 'session.not-found'. Needs no cluster. */
export async function logs({ follow, tail, sinceMs, session }: LogsOptions, io: Io): Promise<void> {
  const { emit, signal } = io;
  const machine = await thisMachine(io.env);
  const { output, isRunning } = await chooseOutput(machine, session, io);
  const reader = readOutput(output, tail);
  const since = sinceMs === undefined ? 0 : Date.now() - sinceMs;
  const isNew = ({ at }: KeptLine): boolean => at >= since;
  const print = async (): Promise<number> => {
    const lines = (await reader.next()).filter(isNew);
    for (const line of lines) emit(logged(line));
    return lines.length;
  };
  await print();
  if (!isRunning) return;
  while (follow) {
    const runs = (await localSessions(machine)).some(({ id }) => id === output.session);
    const count = await print();
    if (!runs && count === 0) return;
    if (!(await sleep(LOOK_EVERY_MS, signal))) signal.throwIfAborted();
  }
}

function logged({ at, stream, line }: KeptLine): Parameters<Emit>[0] {
  return { type: 'output.line', at: new Date(at).toISOString(), stream, line };
}

/** The session that was named, that of this checkout, the last one of this checkout, or the only one on this machine. */
async function chooseOutput(
  machine: LocalMachine,
  wanted: string | undefined,
  { cwd, emit, forAgent }: Io,
): Promise<{ output: KeptOutput; isRunning: boolean }> {
  const here = await checkoutRoot(cwd);
  const all = await withCrashed(machine);
  const kept = await keptOutputs(machine, here);
  const isOwn = all.some(({ checkout, hasCrashed }) => checkout === here && !hasCrashed);
  const isKnown = all.some(({ id, hasCrashed }) => id === wanted && !hasCrashed);
  const last = wanted === undefined ? kept[0] : kept.find(({ session }) => session === wanted);
  if (last !== undefined && !(wanted === undefined ? isOwn : isKnown)) {
    emit(notice('output.of-ended', { session: last.session }));
    return { output: last, isRunning: false };
  }
  const chosen = chooseSession(all, here, { wanted, forAgent });
  noteOther(chosen, { here, wanted }, emit);
  return { output: keptOutputOf(machine, chosen.checkout, chosen.id), isRunning: true };
}
