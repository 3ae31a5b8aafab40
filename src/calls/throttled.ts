import type { CallSummary } from '../report/call.ts';
import { notice, type Told } from '../report/notices/catalogue.ts';
import { keepNewest } from './newest.ts';
import { Repetitions } from './repetitions.ts';

/** What client-go says, first as a text, and since it logs with values as one of them. */
const SAYS_SO = 'due to client-side throttling, not priority and fairness';
const SAYS_SO_NOW = 'Waited before sending request';
const BEFORE_THAT = 'Throttling request took ';
/** A Go duration after its word, as klog, zap, slog and the texts write it; or a number alone. */
const DELAY = /(?:Waited for|took|\bdelay"?[=:])\s*"?((?:\d+(?:\.\d+)?(?:h|ms|m|s))+|\d+(?:\.\d+)?)/;
const UNITS: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
/** slog's JSON has nanoseconds, and zap's has seconds: nobody waits for eleven days. */
const NANOSECONDS = 1_000_000;

/** Shorter waits are normal when many calls come at once, and only a verbose log has them. */
const LEAST_MS = 1_000;
/** Without verbosity, client-go says so once in ten seconds. So often it counts here, however verbose the log is. */
const EACH_MS = 9_000;
const COUNTED_MS = 60_000;
const MOST = 1_000;
const MOST_SHOWN = 3;

/** Finds in the controller's log that client-go holds calls back for longer than a moment, and counts which ones it makes. */
export class Throttled {
  // Twenty seconds: the work at the start of a controller can wait for a while.
  #repetitions = new Repetitions({ least: 3, withinMs: 60_000 });
  #seenAt = -EACH_MS;
  #longestMs = 0;
  #calls = new Map<string, number>();
  #before = new Map<string, number>();
  #since = 0;

  called({ at, verb, resource, path = '' }: CallSummary): void {
    // client-go never holds watches back.
    if (verb === 'watch') return;
    this.#turn(Date.parse(at));
    const call = `${verb} ${resource ?? path}`;
    keepNewest(this.#calls, MOST, call, (this.#calls.get(call) ?? 0) + 1);
  }

  /** A line of the controller's log. `at`: in milliseconds since 1970. */
  logged(line: string, at: number): Told<'warning'>[] {
    const ms = heldBackMs(line) ?? 0;
    if (ms < LEAST_MS) return [];
    this.#longestMs = Math.max(this.#longestMs, ms);
    if (at - this.#seenAt < EACH_MS) return [];
    this.#seenAt = at;
    const repeated = this.#repetitions.add({ about: '', subject: '', at, details: [] });
    if (repeated === undefined) return [];
    const longestSeconds = Math.round(this.#longestMs / 100) / 10;
    this.#longestMs = 0;
    const { times, seconds } = repeated;
    return [notice('calls.throttled', { times, seconds, longestSeconds, calls: this.#most(at) })];
  }

  /** The most frequent calls of the last minute or two. */
  #most(at: number): { call: string; times: number }[] {
    this.#turn(at);
    const all = new Map(this.#before);
    for (const [call, times] of this.#calls) all.set(call, (all.get(call) ?? 0) + times);
    const counts = [...all].map(([call, times]) => ({ call, times }));
    return counts.sort((one, other) => other.times - one.times).slice(0, MOST_SHOWN);
  }

  #turn(at: number): void {
    if (at - this.#since < COUNTED_MS) return;
    this.#before = at - this.#since < 2 * COUNTED_MS ? this.#calls : new Map();
    this.#calls = new Map();
    this.#since = at;
  }
}

/** Whether a line can be one that says for how long client-go has held a call back. */
export function saysThrottled(line: string): boolean {
  return line.includes(SAYS_SO_NOW) || line.includes(SAYS_SO) || line.includes(BEFORE_THAT);
}

/** For how long client-go held a call back, as a line of its log says; undefined for any other line. */
export function heldBackMs(line: string): number | undefined {
  if (!saysThrottled(line)) return undefined;
  // The API server can ask for a wait, too, and the new line has its reason as a value.
  if (line.includes(SAYS_SO_NOW) && !line.includes(SAYS_SO.slice('due to '.length))) return undefined;
  const [, text] = DELAY.exec(line) ?? [];
  if (text === undefined) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)];
  if (parts.length > 0)
    return parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit!]!, 0);
  const number = Number(text);
  return number < NANOSECONDS ? number * 1_000 : number / 1_000_000;
}
