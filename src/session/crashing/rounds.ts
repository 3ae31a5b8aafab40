import { reconcileSummary } from '../../calls/record.ts';
import type { PathStep } from '../../config/json-path.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { CrashRound, ObjectDifference } from '../../report/crash-round.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { type Ends, endDifferences, varyingIn } from './differences.ts';
import {
  type Comparison,
  createdIn,
  endsOf,
  type Found,
  statusesIn,
  type Touched,
  titleOf,
  wordsFor,
} from './final-objects.ts';
import { namesIn } from './names.ts';
import { type CrashPoint, crashPoints, hasSucceeded } from './points.ts';
import { type Run, type RunParts, Runs } from './runs.ts';

export interface RoundsOptions {
  when: 'before' | 'after';
  /** The only point, instead of all. */
  point?: string | undefined;
  /** The most points. */
  limit: number;
  quietSeconds: number;
  /** What is not compared. */
  ignored: PathStep[][];
}

export type Counts = Omit<Extract<DevloopEvent, { type: 'crashtest.done' }>, 'type'>;

/** What all rounds are compared with. */
interface Baseline {
  first: Run;
  run: Run;
  /** Names and what is not compared. */
  comparison: Pick<Comparison, 'names' | 'ignored'>;
  /** What is gone after a reset. */
  gone: Touched[];
  /** What is not, in words. */
  stays: ReadonlySet<string>;
  reconciles: boolean;
}

const LEAST_LIMIT_MS = 60_000;
const TIMES_AS_LONG = 4;

/** Runs the scenario twice without a crash, and then once for each point. Throws 'crashtest.scenario' if it cannot be run without a crash. */
export async function crashRounds(parts: RunParts, options: RoundsOptions): Promise<Counts> {
  const runs = new Runs(parts, options.quietSeconds);
  const { emit } = parts;
  const baseline = await undisturbed(runs, parts, options);
  const { first, run } = baseline;
  const { names } = baseline.comparison;
  // A write that only one of two runs makes is rarely met again.
  const before = new Set(crashPoints(first.records, names, options.when).map(({ rule }) => rule));
  const found = crashPoints(run.records, names, options.when).filter(({ rule }) => before.has(rule));
  const points = chosenOf(found, options);
  const facts = { writes: run.records.filter(hasSucceeded).length, objects: run.touched.size, ms: run.ms };
  emit({ type: 'crashtest.undisturbed', ...facts, points: points.length });
  const counts = { points: 0, wrong: 0, notMet: 0, left: found.length };
  let isReset = true;
  for (const [index, point] of points.entries()) {
    const { round, isLast } = await roundAt(point, baseline, { runs, parts, options });
    emit({ type: 'crashtest.round', number: index + 1, of: points.length, round });
    counts.points += 1;
    counts.left -= 1;
    if (round.result === 'not-met') counts.notMet += 1;
    else if (round.result !== 'same') counts.wrong += 1;
    isReset = !isLast;
    if (isLast) break;
  }
  return { ...counts, left: options.point === undefined ? counts.left : 0, isReset };
}

/** Two runs: what differs between them says nothing about crashes. */
async function undisturbed(runs: Runs, parts: RunParts, { ignored }: RoundsOptions): Promise<Baseline> {
  const { activity, emit } = parts;
  await resetOrThrow(runs, []);
  activity.forgive();
  const first = await undisturbedRun(runs, 1);
  await resetOrThrow(runs, []);
  const { gone, left } = await removedBy(runs, first);
  if (left.length > 0) emit(notice('crashtest.left', { objects: left.map(titleOf) }));
  const run = await undisturbedRun(runs, 2);
  // After the last object is deleted, nothing is left to be reconciled.
  const reconciles = activity.hasReconciles && run.found.length > 0;
  await resetOrThrow(runs, gone);
  const names = namesIn(first.records, run.records);
  runs.limitMs = Math.max(LEAST_LIMIT_MS, TIMES_AS_LONG * run.ms);
  const stays = new Set(left.map((one) => wordsFor(one, names)));
  return { first, run, comparison: { names, ignored }, gone, stays, reconciles };
}

/** What is gone after the reset, and what is left of what the controller has created or somebody has deleted. Anything else was there before. */
async function removedBy(runs: Runs, first: Run): Promise<{ gone: Touched[]; left: Found[] }> {
  const created = new Set(createdIn(first).map(({ path }) => path));
  const there = await runs.existing(first.found);
  const isGoing = ({ path, value }: Found): boolean =>
    created.has(path) || value.metadata.deletionTimestamp !== undefined;
  const left = await runs.untilGone(there.filter(isGoing));
  const kept = new Set([...there.filter((one) => !isGoing(one)), ...left].map(({ path }) => path));
  return { gone: first.found.filter(({ path }) => !kept.has(path)), left };
}

async function undisturbedRun(runs: Runs, number: number): Promise<Run> {
  const run = await runs.run(`run ${number} without a crash`);
  if (run.failed) throw scenarioError(run.failed);
  if (run.unrest)
    throw scenarioError(
      `The controller does not come to rest after the command, without any crash. ${run.unrest}`,
      'If it only looks again and again, less time is enough: --quiet-seconds 2',
    );
  if (run.records.some(hasSucceeded)) return run;
  throw scenarioError(
    'The controller wrote nothing after the command, so there is no write to kill it at.',
    'Give a command that makes it work, such as `kubectl apply -f` with a sample of its kind.',
  );
}

async function resetOrThrow(runs: Runs, gone: Touched[]): Promise<void> {
  const failed = await runs.reset(gone);
  if (failed) throw scenarioError(failed);
}

function chosenOf(found: CrashPoint[], { point, limit }: RoundsOptions): CrashPoint[] {
  if (point === undefined) return found.slice(0, limit);
  return [found.find(({ rule }) => rule === point) ?? { rule: point, write: point }];
}

interface RoundParts {
  runs: Runs;
  parts: RunParts;
  options: RoundsOptions;
}

/** A run with a crash, and its reset: if that fails, the crash is the cause, and no other run can follow. */
async function roundAt(
  { rule, write }: CrashPoint,
  baseline: Baseline,
  { runs, parts }: RoundParts,
): Promise<{ round: CrashRound; isLast: boolean }> {
  const since = performance.now();
  const { gone, stays, reconciles } = baseline;
  const { names } = baseline.comparison;
  const also = new Map(
    [...baseline.run.touched].filter(([, { object }]) => names.of(object) === object.name),
  );
  const run = await runs.run(`the run with a crash at: ${write}`, { rule, also, reconciles });
  const differencesIn = differencesFrom(baseline, run);
  let differences = differencesIn(run.found);
  if (resultOf(run, differences.length) === 'different')
    differences = differencesIn(await runs.lookAgain([...run.touched.values()]));
  const log = parts.activity.lines;
  const created = createdIn(run).filter((one) => !stays.has(wordsFor(one, names)));
  const notReset = await runs.reset(gone, created);
  const facts = { point: rule, write, ms: Math.round(performance.now() - since) };
  const isLast = notReset !== undefined;
  const result = run.failed || isLast ? 'failed' : resultOf(run, differences.length);
  if (result === 'same' || result === 'not-met') return { round: { ...facts, result }, isLast };
  const why = [run.failed, run.unrest, notReset].filter(Boolean).join(' ');
  const killed = run.records.find(({ faults }) => faults?.includes(rule));
  const reconcile = run.reconciles.find((one) => one.reconcile === killed?.reconcile);
  const round = {
    ...{ ...facts, result, repeat: `${AGAIN} --point ${shellWord(rule)}`, log },
    ...(why === '' ? {} : { why }),
    ...(differences.length > 0 && { differences }),
    ...(reconcile && { reconcile: reconcileSummary(reconcile) }),
  };
  return { round, isLast };
}

/** How what there is differs from the ends of the runs without a crash. */
function differencesFrom(
  { first, run: expected, comparison }: Baseline,
  run: Run,
): (found: Found[]) => ObjectDifference[] {
  // A status that says what has failed may be written only after the crash.
  const statuses = statusesIn([first, expected, run].flatMap(({ records }) => records));
  const endsIn = (found: Found[]): Ends => endsOf(found, { ...comparison, statuses });
  const ends = endsIn(expected.found);
  const varying = varyingIn(endsIn(first.found), ends);
  return (found) => endDifferences(ends, endsIn(found), varying);
}

function resultOf({ hasMet, unrest }: Run, differences: number): CrashRound['result'] {
  if (!hasMet) return 'not-met';
  if (unrest) return 'restless';
  return differences > 0 ? 'different' : 'same';
}

function scenarioError(message: string, hint?: string): DevloopError {
  return new DevloopError('crashtest.scenario', message, hint === undefined ? {} : { hint });
}
