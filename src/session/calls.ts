import { sleep } from '../async.ts';
import { exportedRecord } from '../calls/export.ts';
import { type CallFilter, selectsCall, selectsReconcile } from '../calls/filter.ts';
import { reviewsCausedBy } from '../calls/links.ts';
import { readCalls } from '../calls/read.ts';
import {
  type CallRecord,
  callSummary,
  isCall,
  type ReconcileRecord,
  reconcileSummary,
} from '../calls/record.ts';
import { scanCalls } from '../calls/scan.ts';
import { DevloopError } from '../errors.ts';
import { plainJson } from '../phrases.ts';
import type { DevloopEvent } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { ReviewSection } from '../report/review.ts';
import { objectDiff, yaml } from '../reviews/objects.ts';
import { readRecording } from '../reviews/read.ts';
import type { ReviewRecord } from '../reviews/record.ts';
import { recordingVersion } from '../reviews/recording.ts';
import type { LocalSession } from './context/local-sessions.ts';
import type { Io } from './context/options.ts';
import { sessionHere } from './context/session-here.ts';

const LOOK_EVERY_MS = 300;

export interface CallsOptions {
  what: 'calls' | 'reconciles';
  action: 'list' | 'show' | 'export';
  /** Those to show or export. */
  ids: string[];
  filter: CallFilter;
  follow: boolean;
  /** The id of a session on this machine; by default, that of this checkout's session. */
  session?: string;
}

type Item = CallRecord | ReconcileRecord;

/** The calls or the reconciles of a session on this machine. Needs no cluster. Resolves to what `export` prints. */
export async function calls(
  { what, action, ids, filter, follow, session }: CallsOptions,
  io: Io,
): Promise<string> {
  const chosen = await sessionHere(io, { wanted: session, allowsCrashed: !follow });
  const recorded = await readCalls(chosen.directory);
  const records = recorded.filter(isOf(what));
  if (action === 'list') {
    await list({ what, filter, follow }, { chosen, recorded }, io);
    return '';
  }
  const wanted = chosenOf(ids, records, what);
  if (action === 'export') {
    const made = recorded.filter(isCall);
    return wanted.map((one) => `${plainJson(exportedRecord(one, made))}\n`).join('');
  }
  const { records: reviews } = await readRecording(chosen.directory, 'summaries');
  for (const one of wanted) io.emit(shown(one, reviews));
  return '';
}

async function list(
  { what, filter, follow }: Pick<CallsOptions, 'what' | 'filter' | 'follow'>,
  { chosen, recorded }: { chosen: LocalSession; recorded: Item[] },
  io: Io,
): Promise<void> {
  const records = recorded.filter(isOf(what));
  const wanted = (one: Item): boolean =>
    isCall(one) ? selectsCall(filter, one) : selectsReconcile(filter, one);
  const emit = (some: Item[]): void => {
    for (const one of some.filter(wanted)) io.emit(listed(one));
  };
  emit(records);
  const untagged = what === 'reconciles' && records.length === 0 ? recorded.filter(isUntaggedWrite) : [];
  if (untagged.length > 0)
    io.emit(notice('reconciles.untagged', { session: chosen.id, writes: untagged.length }));
  else if (!follow && !records.some(wanted))
    io.emit(notice('calls.none', { what, session: chosen.id, recorded: records.length }));
  if (follow) await followNew(what, { chosen, recorded, emit }, io);
}

/** Until the session ends. */
async function followNew(
  what: CallsOptions['what'],
  { chosen, recorded, emit }: { chosen: LocalSession; recorded: Item[]; emit(some: Item[]): void },
  io: Io,
): Promise<void> {
  const { id, directory } = chosen;
  const lastOf = (items: Item[], of: CallsOptions['what']): string => items.findLast(isOf(of))?.id ?? '';
  const last = { call: lastOf(recorded, 'calls'), reconcile: lastOf(recorded, 'reconciles') };
  let seen: string | undefined;
  while (await sleep(LOOK_EVERY_MS, io.signal)) {
    const version = await recordingVersion(directory, 'calls');
    if (version === undefined) return io.emit(notice('reviews.ended', { source: `Session ${id}` }));
    if (version === seen) continue;
    seen = version;
    for await (const more of scanCalls(directory, last)) {
      emit(more.filter(isOf(what)));
      last.call = lastOf(more, 'calls') || last.call;
      last.reconcile = lastOf(more, 'reconciles') || last.reconcile;
    }
  }
}

function isOf(what: CallsOptions['what']): (one: Item) => boolean {
  return (one) => isCall(one) === (what === 'calls');
}

function isUntaggedWrite(one: Item): boolean {
  return isCall(one) && one.isWrite === true && one.reconcile === undefined;
}

function listed(record: Item): DevloopEvent {
  return isCall(record)
    ? { type: 'calls.listed', call: callSummary(record) }
    : { type: 'reconciles.listed', reconcile: reconcileSummary(record) };
}

function shown(record: Item, recorded: ReviewRecord[]): DevloopEvent {
  const reviews = reviewsCausedBy(record, recorded);
  return isCall(record)
    ? { type: 'calls.listed', call: callSummary(record), sections: sectionsOf(record), reviews }
    : { type: 'reconciles.listed', reconcile: reconcileSummary(record), log: record.log ?? [], reviews };
}

function chosenOf(ids: string[], records: Item[], what: CallsOptions['what']): Item[] {
  const letter = what === 'calls' ? 'c' : 'k';
  return ids.map((id) => {
    const full = /^\d+$/.test(id) ? `${letter}-${id.padStart(6, '0')}` : id;
    const found = records.find((one) => one.id === full);
    if (found === undefined)
      throw new DevloopError('call.not-found', `${full} is not recorded.`, { hint: `devloop ${what}` });
    return found;
  });
}

function sectionsOf({ objectBefore: before, objectAfter: after }: CallRecord): ReviewSection[] {
  if (after === undefined)
    return before === undefined ? [] : [{ title: 'Object before the call', text: yaml(before) }];
  if (before === undefined) return [{ title: 'Object after the call', text: yaml(after) }];
  return [{ title: 'What it changed', text: objectDiff(before, after) }];
}
