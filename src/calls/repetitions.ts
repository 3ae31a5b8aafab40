import { keepNewest } from './newest.ts';

/** What has repeated is not said again before this time, however often it happens. */
const QUIET_MS = 600_000;
const MOST = 1_000;

interface Happened {
  /** What it is counted for. */
  about: string;
  /** Whom it concerns: one report for each of them at a time. */
  subject: string;
  /** In milliseconds since 1970. */
  at: number;
  details: string[];
}

interface Repeated {
  times: number;
  seconds: number;
  /** How often each detail was among them. */
  details: Map<string, number>;
}

interface Count {
  /** The last times that it happened, as many as are needed. */
  last: number[];
  since: number;
  times: number;
  details: Map<string, number>;
}

/** Counts what happens, and reports what happens at least so often within a time: at once, and then with the count of each ten minutes. */
export class Repetitions {
  #least: number;
  #withinMs: number;
  #measureMs: number;
  #counts = new Map<string, Count>();
  #reported = new Map<string, number>();

  /** `measureMs`: it is counted for at least so long before it is reported, so that the report says how often it happens. */
  constructor({ least, withinMs, measureMs = 0 }: { least: number; withinMs: number; measureMs?: number }) {
    this.#least = least;
    this.#withinMs = withinMs;
    this.#measureMs = measureMs;
  }

  /** Returns what is to be reported now. */
  add({ about, subject, at, details }: Happened): Repeated | undefined {
    const count = this.#counted(about, at);
    count.last = [...count.last, at].slice(-this.#least);
    count.times += 1;
    for (const one of new Set(details)) count.details.set(one, (count.details.get(one) ?? 0) + 1);
    if (count.last.length < this.#least || at - count.last[0]! > this.#withinMs) return undefined;
    if (at - count.since < this.#measureMs) return undefined;
    if (at - (this.#reported.get(subject) ?? -QUIET_MS) < QUIET_MS) return undefined;
    keepNewest(this.#reported, MOST, subject, at);
    const seconds = Math.max(1, Math.round((at - count.since) / 1_000));
    const repeated = { times: count.times, seconds, details: count.details };
    Object.assign(count, { since: at, times: 0, details: new Map() });
    return repeated;
  }

  #counted(about: string, at: number): Count {
    const known = this.#counts.get(about);
    const isOver = known === undefined || at - known.last.at(-1)! > this.#withinMs;
    const count = isOver ? { last: [], since: at, times: 0, details: new Map() } : known;
    keepNewest(this.#counts, MOST, about, count);
    return count;
  }
}
