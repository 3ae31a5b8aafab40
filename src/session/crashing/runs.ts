import { reportWhileWaiting, sleep } from '../../async.ts';
import { readCalls } from '../../calls/read.ts';
import { type CallRecord, isCall, type ReconcileRecord } from '../../calls/record.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { SessionFaults } from '../faults/session-faults.ts';
import type { Activity } from './activity.ts';
import { existing, type Found, type Touched, titleOf, touchedBy } from './final-objects.ts';
import type { Scenario } from './scenario.ts';

export interface RunParts {
  api: Pick<ClusterApi, 'call'>;
  /** Where the session's calls are recorded. */
  directory: string;
  activity: Activity;
  /** What the controller does again and again in several runs is no warning. */
  countAnew(): void;
  scenario: Scenario;
  faults: Pick<SessionFaults, 'change' | 'injector'>;
  emit: Emit;
  signal: AbortSignal;
}

/** What a run has written, and what there is at its end. */
export interface Run {
  records: CallRecord[];
  reconciles: ReconcileRecord[];
  touched: Map<string, Touched>;
  found: Found[];
  /** Why the scenario's command has failed. */
  failed: string | undefined;
  /** Why the controller is not at rest. */
  unrest: string | undefined;
  /** Whether the controller was killed. */
  hasMet: boolean;
  ms: number;
}

interface RunOptions {
  /** The fault that kills the controller. */
  rule?: string;
  /** What is to be read besides what this run writes. */
  also?: ReadonlyMap<string, Touched>;
  /** Whether the controller has to have reconciled something since it has started. */
  reconciles?: boolean;
}

/** How long a first run can take to come to rest. */
const FIRST_LIMIT_MS = 300_000;
/** How many times as long as rest a difference or a leak has to last. */
const SETTLING = 2;
/** How long Kubernetes' garbage collector gets. */
const REMOVED_MS = 60_000;
const AFTER_REMOVAL_MS = 300;
const LOOK_EVERY_MS = 250;

/** Runs the scenario, and takes it back. */
export class Runs {
  /** How long a run can take to come to rest after its command. */
  limitMs = FIRST_LIMIT_MS;
  #parts: RunParts;
  #quietMs: number;
  /** What the controller has written before the first run: it may write that whenever it starts, and then a crash has not made it. */
  #fromStart: Map<string, Touched> | undefined;

  constructor(parts: RunParts, quietSeconds: number) {
    this.#parts = parts;
    this.#quietMs = quietSeconds * 1000;
  }

  /** Runs the scenario once, until the controller is at rest. `what`: which run, for a person who waits. */
  async run(what: string, { rule, also = new Map(), reconciles = false }: RunOptions = {}): Promise<Run> {
    const { api, directory, activity, countAnew, scenario, faults, emit, signal } = this.#parts;
    const since = Date.now();
    activity.begin();
    countAnew();
    const added = rule === undefined ? undefined : faults.change({ add: [rule] }).at(-1);
    const failed = await reportWhileWaiting(scenario.run(signal), { for: `the command, in ${what}` }, emit);
    const resting = `the controller to come to rest, in ${what}`;
    const unrest = failed ? undefined : await this.#unrest(resting, this.#quietMs, reconciles);
    const hasMet = faults.injector.list().some(({ id, met }) => id === added?.id && met > 0);
    if (added) faults.change({ clear: [added.id] });
    const kept = await readCalls(directory);
    if (isCut(kept, since)) emit(notice('crashtest.cut', {}));
    const all = kept.filter(({ at }) => Date.parse(at) >= since);
    const records = all.filter(isCall);
    const written = (calls: CallRecord[]) => touchedBy(calls, (object) => activity.versionOf(object));
    this.#fromStart ??= written(kept.filter(isCall).filter(({ at }) => Date.parse(at) < since));
    const touched = written(records);
    if (rule !== undefined) for (const key of this.#fromStart.keys()) touched.delete(key);
    for (const [key, one] of also) touched.set(key, one);
    const found = await existing(api, touched.values(), signal);
    const wereReconciles = all.filter((one): one is ReconcileRecord => !isCall(one));
    const facts = { failed, unrest, hasMet, ms: Date.now() - since };
    return { records, reconciles: wereReconciles, touched, found, ...facts };
  }

  /** What there is when the controller was at rest once more, for longer. */
  async lookAgain(objects: Touched[]): Promise<Found[]> {
    await this.#unrest('what is different to become as without a crash', SETTLING * this.#quietMs);
    return await this.existing(objects);
  }

  /** Takes the scenario back. `gone`: what is gone then. `created`: what else the run has created. Returns why that failed. */
  async reset(gone: Touched[], created: Found[] = []): Promise<string | undefined> {
    const { scenario, signal, emit } = this.#parts;
    const failed = await reportWhileWaiting(scenario.reset(signal), { for: 'the reset' }, emit);
    if (failed) return `The reset has failed. ${failed}`;
    const [left] = await this.untilGone(gone);
    if (left) return `The reset has not removed ${titleOf(left)}, as it did before.`;
    const more = await this.untilGone(created, SETTLING * this.#quietMs);
    if (more.length > 0) emit(notice('crashtest.leaked', { objects: more.map(titleOf) }));
    // When everything is gone, little is left to do; otherwise nobody knows what there is to wait for.
    const quietMs = gone.length > 0 ? AFTER_REMOVAL_MS : this.#quietMs;
    const unrest = await this.#unrest('the controller to come to rest after the reset', quietMs);
    if (unrest) emit(notice('crashtest.restless', { why: unrest }));
    return undefined;
  }

  /** Those of them that exist, as they are now. */
  async existing(objects: Touched[]): Promise<Found[]> {
    return await existing(this.#parts.api, objects, this.#parts.signal);
  }

  /** Returns those that still exist after a while. */
  async untilGone(objects: Touched[], limitMs = REMOVED_MS): Promise<Found[]> {
    const { signal, emit } = this.#parts;
    const wait = async (): Promise<Found[]> => {
      const until = performance.now() + limitMs;
      for (let left = objects; ; ) {
        const found = await this.existing(left);
        if (found.length === 0 || performance.now() >= until) return found;
        left = found;
        if (!(await sleep(LOOK_EVERY_MS, signal))) signal.throwIfAborted();
      }
    };
    const what = {
      for: 'the objects of the last run to be deleted',
      limitSeconds: Math.round(limitMs / 1000),
    };
    return await reportWhileWaiting(wait(), what, emit);
  }

  async #unrest(what: string, quietMs: number, reconciles = false): Promise<string | undefined> {
    const { activity, emit, signal } = this.#parts;
    const { limitMs } = this;
    const resting = activity.rest({ quietMs, limitMs, reconciles }, signal);
    return await reportWhileWaiting(resting, { for: what, limitSeconds: Math.round(limitMs / 1000) }, emit);
  }
}

/** Whether calls since that time may be missing in the recording, which keeps the newest ones. */
export function isCut([oldest]: (CallRecord | ReconcileRecord)[], since: number): boolean {
  return oldest !== undefined && Date.parse(oldest.at) >= since && !/^[ck]-0*1$/.test(oldest.id);
}
