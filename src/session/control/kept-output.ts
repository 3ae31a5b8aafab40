import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { makePath, requireWritable } from '../../machine/own-files.ts';
import { counted } from '../../phrases.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { createRecording, type Recording, recordingFiles } from '../../reviews/recording.ts';
import { checkoutId } from '../context/checkout.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import { localSessions } from '../context/local-sessions.ts';

/** A line that the controller printed, as it is kept. `at`: in ms since 1970. */
export interface KeptLine {
  at: number;
  stream: 'stdout' | 'stderr';
  line: string;
}

/** What a session's controller has printed. It outlives the session, until the next one of the checkout. */
export interface KeptOutput {
  session: string;
  directory: string;
}

const LIMITS = { records: 200_000, bytes: 16 * 2 ** 20 };
/** What is not written yet, in characters. Above it, lines are dropped: the disk is slower than the controller. */
const MOST_WAITING = 4 * 2 ** 20;
const FLUSH_MS = 50;
export const LONGEST_KEPT_MS = 7 * 86_400_000;

function placeOf({ stateDirectory }: Pick<LocalMachine, 'stateDirectory'>): string {
  // Another name would be that of a session.
  return join(stateDirectory, '.output');
}

function prefixOf(checkout: string): string {
  return `${checkoutId(checkout)}-`;
}

/** What is kept for a checkout, the newest first. */
export async function keptOutputs(machine: LocalMachine, checkout: string): Promise<KeptOutput[]> {
  const prefix = prefixOf(checkout);
  const found = (await allKept(machine)).filter(({ name }) => name.startsWith(prefix));
  return found.sort((a, b) => b.usedAt - a.usedAt);
}

interface Found extends KeptOutput {
  name: string;
  usedAt: number;
}

async function allKept(machine: LocalMachine): Promise<Found[]> {
  const place = placeOf(machine);
  const names = await readdir(place).catch(() => []);
  return await Promise.all(
    names.map(async (name) => {
      const directory = join(place, name);
      const { newer } = recordingFiles(directory, 'output');
      const stats = await stat(newer).catch(() => stat(directory));
      return { name, directory, session: name.slice(name.indexOf('-') + 1), usedAt: stats.mtimeMs };
    }),
  );
}

/** Where the output of a session is kept, whether or not anything is there yet. */
export function keptOutputOf(machine: LocalMachine, checkout: string, session: string): KeptOutput {
  return { session, directory: join(placeOf(machine), prefixOf(checkout) + session) };
}

/** Keeps what the controller of a session prints, and removes what earlier sessions of the checkout have left. */
export async function keepOutput(
  machine: LocalMachine,
  { checkout, session }: { checkout: string; session: string },
  emit: Emit,
): Promise<AsyncDisposable & { observe(event: DevloopEvent): void }> {
  const { directory } = keptOutputOf(machine, checkout, session);
  try {
    await removeOld(machine, checkout);
    await requireWritable(placeOf(machine));
    await makePath(directory);
  } catch (error) {
    emit(notice('output.not-kept', { cause: messageOf(error) }));
    return { observe() {}, [Symbol.asyncDispose]: async () => {} };
  }
  return createKeeper(createRecording(directory, 'output', LIMITS), emit);
}

export function createKeeper(
  recording: Recording,
  emit: Emit,
): AsyncDisposable & { observe(event: DevloopEvent): void } {
  let waiting = 0;
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  const add = (stream: KeptLine['stream'], line: string): void =>
    recording.add({ at: Date.now(), stream, line } satisfies KeptLine);
  const flush = async (): Promise<void> => {
    const size = waiting;
    await recording.flush().catch((error) => emit(notice('output.not-kept', { cause: messageOf(error) })));
    waiting -= size;
    if (dropped > 0) add('stderr', `devloop has left out ${counted(dropped, 'line')} here.`);
    dropped = 0;
  };
  return {
    observe(event) {
      if (event.type !== 'controller.output') return;
      if (waiting > MOST_WAITING) dropped += 1;
      else add(event.stream, event.line);
      waiting += event.line.length;
      timer ??= setTimeout(() => {
        timer = undefined;
        writing = writing.then(flush);
      }, FLUSH_MS);
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await writing.then(flush);
      await recording.flush().catch(() => {});
    },
  };
}

/** Sessions that run keep theirs. */
async function removeOld(machine: LocalMachine, checkout: string): Promise<void> {
  const prefix = prefixOf(checkout);
  const running = (await localSessions(machine)).map(({ id }) => id);
  const isOld = ({ name, session, usedAt }: Found): boolean =>
    !running.includes(session) && (name.startsWith(prefix) || Date.now() - usedAt > LONGEST_KEPT_MS);
  const old = (await allKept(machine)).filter(isOld);
  await Promise.all(old.map(({ directory }) => rm(directory, { recursive: true, force: true })));
}
