import fc from 'fast-check';
import { type RunnerTestCase, TestRunner } from 'vitest';

/** What `npm run soak` prints about a test. */
export interface Repetitions {
  what: string;
  count: number;
  seconds: number;
}

declare module 'vitest' {
  interface TaskMeta {
    repetitions?: Repetitions[];
  }
}

const HANG_MS = 120_000;
const PROGRESS_MS = 60_000;
/** What breaks one repetition often breaks the next one, too. */
const ENOUGH_FAILURES = 3;

/** Whether this is a run of `npm run soak`. */
export const SOAK = process.env.DEVLOOP_SOAK === '1';

/** In `npm run soak`, all of them; in `npm test`, the named ones, which are one of each kind. */
export function inSoak<T extends readonly [name: string, ...rest: unknown[]]>(
  all: readonly T[],
  ...quick: string[]
): T[] {
  const chosen = all.filter(([name]) => SOAK || quick.includes(name));
  if (chosen.length < quick.length) throw new Error(`not all of these exist: ${quick.join(', ')}`);
  return chosen;
}

/**
 * Repeats something: `soak` times in `npm run soak`, and in `npm test` once, or `quick` times if one is not enough. Names the repetition
 * that fails or takes longer than `limitMs`; `npm run soak` continues after the first failures.
 */
export async function repeat(
  what: string,
  { soak, quick = 1, limitMs = HANG_MS }: { soak: number; quick?: number; limitMs?: number },
  once: (index: number) => Promise<void>,
): Promise<void> {
  const count = SOAK ? soak : quick;
  const started = performance.now();
  const tell = progress(what, count);
  const failures: Error[] = [];
  for (let index = 0; index < count; index++) {
    tell(index);
    await within(limitMs, once(index)).catch((cause: Error) => {
      failures.push(new Error(`${what}, ${index + 1} of ${count}: ${cause.message}`, { cause }));
      if (SOAK) console.error(failures.at(-1)!.message);
    });
    if (failures.length === (SOAK ? ENOUGH_FAILURES : 1)) throw failures[0]!;
  }
  record(what, count - failures.length, started);
  if (failures.length > 0) throw failures[0]!;
}

/** In `npm run soak`, prints once a minute how many are done, so that a run that is cut short has counts, too. */
export function progress(what: string, count: number): (done: number) => void {
  let last = performance.now();
  return (done) => {
    if (!SOAK || performance.now() - last < PROGRESS_MS) return;
    last = performance.now();
    console.error(`${done} of ${count}: ${what}`);
  };
}

/** A case that failed, as fast-check names it: `DEVLOOP_SEED=1 DEVLOOP_PATH=4:1:0`. */
function again(): { seed?: number; path?: string } {
  const { DEVLOOP_SEED: seed, DEVLOOP_PATH: path } = process.env;
  return { ...(seed ? { seed: Number(seed) } : {}), ...(path ? { path } : {}) };
}

/** The same for a property of fast-check, which names the case that failed. */
export function checkProperty<T>(
  what: string,
  { soak, quick }: { soak: number; quick: number },
  property: fc.IProperty<T>,
): void {
  const numRuns = SOAK ? soak : quick;
  const started = performance.now();
  fc.assert(property, { numRuns, ...again() });
  record(what, numRuns, started);
}

/** The same for an asynchronous property. `examples` come first, and count. */
export async function checkAsyncProperty<T>(
  what: string,
  { soak, quick, examples = [] }: { soak: number; quick: number; examples?: T[] },
  property: fc.IAsyncProperty<[T]>,
): Promise<void> {
  const numRuns = (SOAK ? soak : quick) + examples.length;
  const started = performance.now();
  await fc.assert(property, { numRuns, examples: examples.map((one): [T] => [one]), ...again() });
  record(what, numRuns, started);
}

/** Adds a line to the counts at the end of `npm run soak`. */
export function record(what: string, count: number, startedAt: number): void {
  const { meta } = TestRunner.getCurrentTest<RunnerTestCase>();
  const seconds = (performance.now() - startedAt) / 1000;
  meta.repetitions = [...(meta.repetitions ?? []), { what, count, seconds }];
}

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const hung = Promise.withResolvers<never>();
  const timer = setTimeout(() => hung.reject(new Error(`HUNG for ${limitMs / 1000} s`)), limitMs);
  await Promise.race([work, hung.promise]).finally(() => clearTimeout(timer));
}
