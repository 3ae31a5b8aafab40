import { sleep } from '../async.ts';
import { DevloopError } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { isLater } from '../report/review.ts';
import type { ReadRecording } from '../reviews/read.ts';
import { type ReviewRecord, summaryOf } from '../reviews/record.ts';
import type { WaitingReviews } from '../reviews/recorder.ts';
import { selects } from '../reviews/select.ts';
import { setNames } from '../reviews/sets.ts';
import { checkoutRoot, isCheckout } from './context/checkout.ts';
import { chooseSession } from './context/choose-session.ts';
import { thisMachine } from './context/local-machine.ts';
import { withCrashed } from './context/local-sessions.ts';
import type { Io, ReviewsOptions } from './context/options.ts';
import { nothingListed } from './reviews/nothing-listed.ts';
import { type ReviewSource, sourceOf } from './reviews/review-source.ts';

const LOOK_EVERY_MS = 300;

/** The reviews of a session on this machine, or of a saved set. Needs no cluster. Resolves to what `export` prints. */
export async function reviews(options: ReviewsOptions, io: Io): Promise<string> {
  const checkout = await checkoutRoot(io.cwd);
  if (options.action === 'verify' && options.set === undefined) {
    const { nameSets } = await import('./reviews/saved-set.ts');
    return await nameSets(checkout, io.emit);
  }
  const source = await sourceOf(options, checkout, io);
  // The session is asked before the recording is read: a review that is answered in between is then in the recording.
  const waiting = options.follow ? undefined : await source.waiting?.();
  const { records, unread } = await source.read(options.action === 'list' ? 'summaries' : 'records');
  if (unread > 0) io.emit(notice('reviews.unread', { source: source.name, lines: unread }));
  switch (options.action) {
    case 'list':
      await list(options, { source, records, waiting }, io);
      return '';
    case 'show': {
      const { sectionsOf } = await import('../reviews/show.ts');
      const { causeOf } = await import('../calls/links.ts');
      const { changesBefore, isOfSameObject, wasChangedBy } = await import('../reviews/earlier.ts');
      const recorded = (await source.calls?.()) ?? [];
      for (const record of chosen(options.ids, records, source)) {
        const cause = causeOf(record, recorded);
        const ofSame = records.filter((one) => isOfSameObject(one, record));
        const earlier = changesBefore(ofSame).find((one) => wasChangedBy(one, record));
        io.emit({
          type: 'reviews.shown',
          review: summaryOf(record),
          sections: sectionsOf(record, earlier?.id),
          ...(cause ? { cause } : {}),
        });
      }
      return '';
    }
    case 'export': {
      const { exported } = await import('./reviews/exported.ts');
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
  {
    checkout,
    source,
    records,
    unread,
  }: Omit<ReadRecording, 'late'> & { checkout: string; source: ReviewSource },
  io: Io,
): Promise<void> {
  const { action, sideEffects: withSideEffects, session, apiServer, set, set: name = '', allow } = options;
  const ids = action === 'verify' ? [] : options.ids;
  if (action === 'replay') {
    const named = (await setNames(checkout)).find((one) => ids.includes(one));
    chosen(
      ids,
      records,
      source,
      named && `To replay the saved set: devloop reviews replay --set ${shellWord(named)}`,
    );
  }
  const wanted = wantedOf({ ids, filter: options.filter }, records);
  if (wanted.length === 0) throw set === undefined || records.length > 0 ? noneOf('replayed') : noneIn(name);
  if (action === 'verify') {
    const [{ verifySet }, { updateSet }] = await Promise.all([
      import('./verify.ts'),
      import('./reviews/saved-set.ts'),
    ]);
    const updating = options.update
      ? updateSet({ checkout, name, allow }, { records, unread }, io.emit)
      : undefined;
    const accepts = updating?.accepts;
    await verifySet({ name, records: wanted, checkout, withSideEffects, apiServer, accepts }, io);
    return await updating?.write();
  }
  const { replayToSession } = await import('./reviews/replay.ts');
  const all = await withCrashed(await thisMachine(io.env));
  const chosenSession = chooseSession(all, checkout, { wanted: session, forAgent: io.forAgent });
  await replayToSession(chosenSession, wanted, { io, withSideEffects, from: { set, session } });
}

interface ReviewList {
  source: ReviewSource;
  records: ReviewRecord[];
  waiting: WaitingReviews | undefined;
}

/** Lists each review once: one that was answered after the session was asked still counts as waiting. */
async function list(
  { filter, follow }: ReviewsOptions,
  { source, records, waiting }: ReviewList,
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
    io.emit(nothingListed(source.name, filter, reviews));
  let last = records.at(-1)?.id ?? '';
  let seen: string | undefined;
  while (follow && (await sleep(LOOK_EVERY_MS, io.signal))) {
    const version = await source.version();
    if (version === undefined) return io.emit(notice('reviews.ended', { source: source.name }));
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
  source: ReviewSource,
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

function noneIn(set: string): DevloopError {
  return new DevloopError('review.not-found', `The saved set ${set} has no reviews that can be read.`, {
    hint: `Restore its file, for example from git, or save it again: devloop reviews save ${shellWord(set)} --update`,
  });
}

function noneOf(done: string): DevloopError {
  return new DevloopError('review.not-found', `None of the reviews can be ${done}.`, {
    hint: 'devloop reviews list',
  });
}

async function save(
  { ids, filter, update, allow }: ReviewsOptions,
  { checkout, source, records }: { checkout: string; source: ReviewSource; records: ReviewRecord[] },
  io: Io,
): Promise<void> {
  const [name = '', ...wanted] = ids;
  chosen(wanted, records, source);
  // A set does not record whose account the session used, nor which call a review was for.
  const kept = wantedOf({ ids: wanted, filter }, records)
    .filter(({ request }) => request !== undefined)
    .map(({ isOwnUser: _, uid: __, ...record }) => record);
  if (kept.length === 0) throw noneOf('saved');
  const { saveSet } = await import('./reviews/saved-set.ts');
  // If the set were outside any checkout, no test would find it.
  const place = isCheckout(checkout) ? checkout : source.checkout;
  const file = await saveSet(place, name, { records: kept, replaces: update, allow });
  io.emit(notice('reviews.saved', { reviews: kept.length, file }));
  warnOfOldAnswers(name, kept, io.emit);
}

/** Warns if an older build gave some of the answers in a set, because perhaps no single build gives all of them. */
function warnOfOldAnswers(name: string, kept: ReviewRecord[], emit: Emit): void {
  const newest = kept.findLast(({ build }) => build !== undefined)?.build;
  const old = kept.filter(({ build }) => build !== undefined && build !== newest);
  if (old.length > 0) emit(notice('reviews.of-older-build', { set: name, reviews: old.length }));
}
