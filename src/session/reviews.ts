import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { sleep } from '../async.ts';
import { DevloopError } from '../errors.ts';
import { counted } from '../phrases.ts';
import type { Emit } from '../report/events.ts';
import { isLater } from '../report/review.ts';
import { type ReadRecording, readRecording, readRecords, type Wanted } from '../reviews/read.ts';
import { type ReviewRecord, summaryOf } from '../reviews/record.ts';
import type { WaitingReviews } from '../reviews/recorder.ts';
import { recordingFiles } from '../reviews/recording.ts';
import { selects } from '../reviews/select.ts';
import { setFile, setNames } from '../reviews/sets.ts';
import { similarNames } from '../similar.ts';
import { checkoutRoot, isCheckout } from './context/checkout.ts';
import { chooseSession } from './context/choose-session.ts';
import { thisMachine } from './context/local-machine.ts';
import { type LocalSession, localSessions } from './context/local-sessions.ts';
import type { Io, ReviewsOptions } from './context/options.ts';
import { type Requests, socketPath } from './control/requests.ts';
import { nothingListed } from './nothing-listed.ts';

const LOOK_EVERY_MS = 300;
const ASK_MS = 2_000;

/** The reviews of a session on this machine, or of a saved set. Needs no cluster. Resolves to what `export` prints. */
export async function reviews(options: ReviewsOptions, io: Io): Promise<string> {
  const checkout = checkoutRoot(io.cwd);
  if (options.action === 'verify' && options.set === undefined) {
    const { nameSets } = await import('./saved-set.ts');
    return await nameSets(checkout, io.emit);
  }
  const source = await sourceOf(options, checkout, io);
  // The session is asked before the recording is read: a review that is answered in between is then in the recording.
  const waiting = options.follow ? undefined : await source.waiting?.();
  const { records, unread } = await source.read(options.action === 'list' ? 'summaries' : 'records');
  if (unread > 0)
    io.emit({
      type: 'warning',
      message: `${source.name} has ${counted(unread, 'line')} that this version of devloop cannot read.`,
    });
  switch (options.action) {
    case 'list':
      await list(options, { source, records, waiting }, io);
      return '';
    case 'show': {
      const { sectionsOf } = await import('../reviews/show.ts');
      for (const record of chosen(options.ids, records, source))
        io.emit({ type: 'reviews.shown', review: summaryOf(record), sections: sectionsOf(record) });
      return '';
    }
    case 'export': {
      const { exported } = await import('./exported.ts');
      const moved = options.format === 'curl' ? await source.moved?.() : undefined;
      return await exported(options, chosen(options.ids, records, source), {
        checkout,
        moved,
        emit: io.emit,
      });
    }
    case 'replay':
    case 'verify':
      await sendAgain(options, { checkout, source, records, unread }, io);
      return '';
    case 'save':
      await save(options, { checkout, source, records }, io);
      return '';
    default:
      return options.action satisfies never;
  }
}

/** Sends reviews to the controller of a session, or for `verify` to a manager that is built and started for it. */
async function sendAgain(
  options: ReviewsOptions,
  { checkout, source, records, unread }: Omit<ReadRecording, 'late'> & { checkout: string; source: Source },
  io: Io,
): Promise<void> {
  const { action, sideEffects: withSideEffects, session, apiServer, set, set: name = '' } = options;
  const ids = action === 'verify' ? [] : options.ids;
  if (action === 'replay') {
    const named = (await setNames(checkout)).find((one) => ids.includes(one));
    chosen(ids, records, source, named && `To replay the saved set: devloop reviews replay --set ${named}`);
  }
  const wanted = wantedOf({ ids, filter: options.filter }, records);
  if (wanted.length === 0) throw noneOf('replayed');
  if (action === 'verify') {
    const [{ verifySet }, { updateSet }] = await Promise.all([
      import('./verify.ts'),
      import('./saved-set.ts'),
    ]);
    const updating = options.update ? updateSet({ checkout, name }, { records, unread }, io.emit) : undefined;
    const accepts = updating?.accepts;
    await verifySet({ name, records: wanted, checkout, withSideEffects, apiServer, accepts }, io);
    return await updating?.write();
  }
  const { replayToSession } = await import('./replay.ts');
  const all = await localSessions(await thisMachine(io.env));
  const chosenSession = chooseSession(all, checkout, { wanted: session });
  await replayToSession(chosenSession, wanted, { io, withSideEffects, from: { set, session } });
}

/** Where reviews are read from. */
interface Source {
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
}

async function sourceOf({ action, set, session }: ReviewsOptions, checkout: string, io: Io): Promise<Source> {
  if (set !== undefined) return await setSource(checkout, { action, set });
  const all = await localSessions(await thisMachine(io.env));
  const otherwise =
    action === 'replay'
      ? 'To send a saved set to a manager without a session: devloop reviews verify NAME'
      : 'To list a saved set: devloop reviews --set NAME';
  const chosenSession = chooseSession(all, checkout, { wanted: session, otherwise });
  const { id, directory } = chosenSession;
  const waiting = () => askIfPossible(chosenSession, 'waiting', io);
  const moved = async () => new Map((await askIfPossible(chosenSession, 'replaying', io))?.ports);
  const { older, newer } = recordingFiles(directory);
  const version = () => versionOf(directory, [older, newer]);
  return {
    name: `Session ${id}`,
    checkout: chosenSession.checkout,
    read: (wanted) => readRecording(directory, wanted),
    version,
    waiting,
    moved,
  };
}

async function versionOf(place: string, files: string[]): Promise<string | undefined> {
  if (!existsSync(place)) return undefined;
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  return stats.map((one) => `${one?.size} ${one?.mtimeMs}`).join();
}

async function askIfPossible<Name extends 'waiting' | 'replaying'>(
  session: LocalSession,
  what: Name,
  { emit, signal }: Io,
): Promise<Requests[Name]['answer'] | undefined> {
  if (!existsSync(socketPath(session.directory))) return undefined;
  const { askSession } = await import('./control/client.ts');
  return await askSession(session, what, {}, { emit, signal, limitMs: ASK_MS }).catch((error) => {
    if (error instanceof DevloopError) return undefined;
    throw error;
  });
}

async function setSource(
  checkout: string,
  { action, set: name }: { action: ReviewsOptions['action']; set: string },
): Promise<Source> {
  const names = await setNames(checkout);
  const file = setFile(checkout, name);
  if (!names.includes(name)) {
    const known = names.length === 0 ? 'There are no saved sets here.' : `Saved sets: ${names.join(', ')}.`;
    const commands = similarNames(name, names).map((one) =>
      action === 'verify' ? `devloop reviews verify ${one}` : `devloop reviews ${action} --set ${one}`,
    );
    const hint = commands.join('\n') || 'To save the reviews of a session: devloop reviews save NAME';
    throw new DevloopError('review.not-found', `${file} does not exist. ${known}`, { hint });
  }
  return { name: file, checkout, read: () => readRecords(file), version: () => versionOf(file, [file]) };
}

interface Listed {
  source: Source;
  records: ReviewRecord[];
  waiting: WaitingReviews | undefined;
}

/** Lists each review once: one that was answered after the session was asked still counts as waiting. */
async function list(
  { filter, follow }: ReviewsOptions,
  { source, records, waiting }: Listed,
  io: Io,
): Promise<void> {
  const emit = (record: ReviewRecord): void => {
    if (selects(filter, record)) io.emit({ type: 'reviews.listed', review: summaryOf(record) });
  };
  records.filter(({ id }) => waiting === undefined || !isLater(id, waiting.last)).forEach(emit);
  const unanswered = waiting?.reviews ?? [];
  for (const review of unanswered) if (selects(filter, review)) io.emit({ type: 'reviews.waiting', review });
  const reviews = [...records, ...unanswered];
  if (!follow && !reviews.some((review) => selects(filter, review)))
    io.emit({ type: 'note', message: nothingListed(source.name, filter, reviews) });
  let last = records.at(-1)?.id ?? '';
  let seen: string | undefined;
  while (follow && (await sleep(LOOK_EVERY_MS, io.signal))) {
    const version = await source.version();
    if (version === undefined) return io.emit({ type: 'note', message: `${source.name} has ended.` });
    if (version === seen) continue;
    seen = version;
    const now = (await source.read('summaries')).records;
    now.filter(({ id }) => isLater(id, last)).forEach(emit);
    last = now.at(-1)?.id ?? last;
  }
}

/** The reviews with the given ids. Throws 'review.not-found' for an id that no review has. */
function chosen(
  ids: string[],
  records: ReviewRecord[],
  source: Source,
  hint = 'devloop reviews list',
): ReviewRecord[] {
  return ids.map((id) => {
    const found = records.find((record) => record.id === fullId(id));
    if (found) return found;
    const range =
      records.length === 0 ? 'It has none.' : `It has ${records[0]!.id} to ${records.at(-1)!.id}.`;
    throw new DevloopError('review.not-found', `${source.name} has no review ${id}. ${range}`, { hint });
  });
}

/** The full id of a review, such as `r-000041` for `41`. */
function fullId(id: string): string {
  return /^\d{1,15}$/.test(id) ? `r-${id.padStart(6, '0')}` : id;
}

/** The reviews that the filter selects; only those with the `ids`, if there are any. */
function wantedOf(
  { ids, filter }: Pick<ReviewsOptions, 'ids' | 'filter'>,
  records: ReviewRecord[],
): ReviewRecord[] {
  const full = ids.map(fullId);
  return records.filter(
    (record) => selects(filter, record) && (full.length === 0 || full.includes(record.id)),
  );
}

function noneOf(done: string): DevloopError {
  return new DevloopError('review.not-found', `None of the reviews can be ${done}.`, {
    hint: 'devloop reviews list',
  });
}

async function save(
  { ids, filter, update }: ReviewsOptions,
  { checkout, source, records }: { checkout: string; source: Source; records: ReviewRecord[] },
  io: Io,
): Promise<void> {
  const [name = '', ...wanted] = ids;
  chosen(wanted, records, source);
  // A set does not record whose account the session used.
  const kept = wantedOf({ ids: wanted, filter }, records)
    .filter(({ request }) => request !== undefined)
    .map(({ isOwnUser: _, ...record }) => record);
  if (kept.length === 0) throw noneOf('saved');
  const { saveSet } = await import('./saved-set.ts');
  // If the set were outside any checkout, no test would find it.
  const place = isCheckout(checkout) ? checkout : source.checkout;
  const file = await saveSet(place, name, { records: kept, replaces: update });
  io.emit({ type: 'note', message: `Saved ${counted(kept.length, 'review')} to ${file}.` });
  warnOfOldAnswers(name, kept, io.emit);
}

/** Warns if an older build gave some of the answers in a set, because perhaps no single build gives all of them. */
function warnOfOldAnswers(name: string, kept: ReviewRecord[], emit: Emit): void {
  const newest = kept.findLast(({ build }) => build !== undefined)?.build;
  const old = kept.filter(({ build }) => build !== undefined && build !== newest);
  if (old.length === 0) return;
  const were = old.length === 1 ? 'was' : 'were';
  const message = `${counted(old.length, 'review')} of the set ${were} answered by an older build. The newest one may answer differently.`;
  const hint = `To record the answers of the current code instead: devloop reviews verify ${name} --update`;
  emit({ type: 'warning', message, hint });
}
