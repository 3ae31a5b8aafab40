import { existsSync } from 'node:fs';
import type { CallRecord, ReconcileRecord } from '../../calls/record.ts';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { type ReadRecording, readRecording, readRecords, type Wanted } from '../../reviews/read.ts';
import type { WaitingReviews } from '../../reviews/recorder.ts';
import { recordingVersion, versionOf } from '../../reviews/recording.ts';
import { setFile, setNames } from '../../reviews/sets.ts';
import { similarNames } from '../../similar.ts';
import { chooseSession, noteOther } from '../context/choose-session.ts';
import { thisMachine } from '../context/local-machine.ts';
import { type LocalSession, withCrashed } from '../context/local-sessions.ts';
import type { Io, ReviewsOptions } from '../context/options.ts';
import { type Requests, socketPath } from '../control/requests.ts';

const ASK_MS = 2_000;

/** Where reviews are read from. */
export interface ReviewSource {
  name: string;
  /** The checkout that these reviews belong to. */
  checkout: string;
  read(wanted: Wanted): Promise<ReadRecording>;
  /** A text that differs after each change; undefined when the source is gone. */
  version(): Promise<string | undefined>;
  /** The reviews without an answer; undefined if the session cannot be asked, because it is starting or ending, or has no socket. */
  waiting?(): Promise<WaitingReviews | undefined>;
  /**
   * Ports for which reviews are recorded, each with the port on which the controller listens instead; empty if the session cannot be asked.
   */
  moved?(): Promise<ReadonlyMap<number, number>>;
  /** The recorded calls and reconciles of the controller that answered these reviews. */
  calls?(): Promise<(CallRecord | ReconcileRecord)[]>;
}

/** The saved set that was named, or the recording of a session on this machine. Throws 'session.not-found' or 'review.not-found'. */
export async function sourceOf(
  { action, follow, set, session }: ReviewsOptions,
  checkout: string,
  io: Io,
): Promise<ReviewSource> {
  if (set !== undefined) return await setSource(checkout, { action, set });
  const all = await withCrashed(await thisMachine(io.env));
  const otherwise =
    action === 'replay'
      ? 'To send a saved set to a manager without a session: devloop reviews verify NAME'
      : 'To list a saved set: devloop reviews --set NAME';
  const allowsCrashed = action !== 'replay' && !follow;
  const chosenSession = chooseSession(all, checkout, {
    ...{ wanted: session, forAgent: io.forAgent, allowsCrashed, otherwise },
  });
  noteOther(chosenSession, { here: checkout, wanted: session }, io.emit);
  const { id, directory, hasCrashed } = chosenSession;
  if (hasCrashed) io.emit(notice('reviews.of-crashed', { session: id }));
  const waiting = () => askIfPossible(chosenSession, 'waiting', io);
  const moved = async () => new Map((await askIfPossible(chosenSession, 'replaying', io))?.ports);
  const version = () => recordingVersion(directory);
  return {
    name: `Session ${id}`,
    checkout: chosenSession.checkout,
    read: (wanted) => readRecording(directory, wanted),
    version,
    waiting,
    moved,
    calls: async () => (await import('../../calls/read.ts')).readCalls(directory),
  };
}

async function askIfPossible<Name extends 'waiting' | 'replaying'>(
  session: LocalSession,
  what: Name,
  { emit, signal }: Io,
): Promise<Requests[Name]['answer'] | undefined> {
  if (!existsSync(socketPath(session.directory))) return undefined;
  const { askSession } = await import('../control/client.ts');
  return await askSession(session, what, {}, { emit, signal, limitMs: ASK_MS }).catch((error) => {
    if (error instanceof DevloopError) return undefined;
    throw error;
  });
}

async function setSource(
  checkout: string,
  { action, set: name }: { action: ReviewsOptions['action']; set: string },
): Promise<ReviewSource> {
  const names = await setNames(checkout);
  const file = setFile(checkout, name);
  if (!names.includes(name)) {
    const known = names.length === 0 ? 'There are no saved sets here.' : `Saved sets: ${names.join(', ')}.`;
    const commands = similarNames(name, names).map((one) =>
      action === 'verify'
        ? `devloop reviews verify ${shellWord(one)}`
        : `devloop reviews ${action} --set ${shellWord(one)}`,
    );
    const hint = commands.join('\n') || 'To save the reviews of a session: devloop reviews save NAME';
    throw new DevloopError('review.not-found', `${file} does not exist. ${known}`, { hint });
  }
  return { name: file, checkout, read: () => readRecords(file), version: () => versionOf(file, [file]) };
}
