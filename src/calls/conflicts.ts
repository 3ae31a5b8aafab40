import type { CallSummary } from '../report/call.ts';
import { keepNewest } from './newest.ts';

export interface Often {
  times: number;
  seconds: number;
}

/** How writes of one object ended. */
interface Tried {
  /** Those that were refused since one succeeded. */
  inRow: { times: number; since: number; last: number };
  /** All of the last time. */
  lately: { writes: number; refused: number; since: number };
}

/** A stale cache catches up sooner, and controller-runtime tries again often enough within this time. */
const STUCK = { times: 5, ms: 5_000 };
/** A conflict after this time has another cause. */
const TOGETHER_MS = 60_000;
/** Each write succeeds at the third attempt or later, which is no bad luck any more if it goes on for so long. */
const OFTEN = { times: 20, ms: 30_000, share: 2 / 3 };
const MOST = 1_000;

/**
 * Finds the conflicts that are a fault. One is none: somebody else was faster, and the next attempt succeeds. Those are, between which no write
 * of the object succeeds, or much fewer than are refused.
 */
export class Conflicts {
  #tried = new Map<string, Tried>();

  /** `about`: what is written, by whom. Returns how often such writes were refused, if that is a fault. */
  called(about: string, call: CallSummary): Often | undefined {
    if (!call.isWrite || call.isOwn || call.isDryRun || call.faults) return undefined;
    const isRefused = isConflict(call);
    if (!isRefused && (call.code === undefined || call.code >= 400)) return undefined;
    const at = Date.parse(call.at);
    const known = this.#tried.get(about);
    if (known === undefined && !isRefused) return undefined;
    const tried = after(known, at, isRefused);
    keepNewest(this.#tried, MOST, about, tried);
    return isRefused ? faultIn(tried, at) : undefined;
  }
}

/** A create that finds its object is no conflict: it has the same status. */
function isConflict({ verb, code }: CallSummary): boolean {
  return code === 409 && verb !== 'create';
}

function after(known: Tried | undefined, at: number, isRefused: boolean): Tried {
  const none = { times: 0, since: at, last: at };
  const before = known === undefined || at - known.inRow.last > TOGETHER_MS ? none : known.inRow;
  const first = before.times === 0 ? none : before;
  const isRecent = known !== undefined && at - known.lately.since <= TOGETHER_MS;
  const lately = isRecent ? known.lately : { writes: 0, refused: 0, since: at };
  return {
    inRow: isRefused ? { ...first, times: first.times + 1, last: at } : none,
    lately: {
      ...lately,
      writes: lately.writes + 1,
      refused: lately.refused + (isRefused ? 1 : 0),
    },
  };
}

function faultIn({ inRow, lately }: Tried, at: number): Often | undefined {
  const isStuck = inRow.times >= STUCK.times && at - inRow.since >= STUCK.ms;
  if (isStuck) return often(inRow.times, inRow.since, at);
  const { writes, refused, since } = lately;
  const isOften = refused >= OFTEN.times && at - since >= OFTEN.ms && refused / writes >= OFTEN.share;
  return isOften ? often(refused, since, at) : undefined;
}

function often(times: number, since: number, at: number): Often {
  return { times, seconds: Math.round((at - since) / 1_000) };
}
