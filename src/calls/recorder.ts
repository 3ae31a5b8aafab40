import { type ApiCall, type CalledResource, isWrite } from '../api-proxy/api-call.ts';
import type { CallHooks, ServedCall } from '../api-proxy/observed.ts';
import { createTally, createWarner } from '../async.ts';
import { Backlog } from '../backlog.ts';
import type { PathStep } from '../config/json-path.ts';
import { messageOf } from '../errors.ts';
import { dateOf } from '../machine/elapsed.ts';
import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { Recording } from '../reviews/recording.ts';
import { callRecord, isVersion, type RecordedCall } from './call-record.ts';
import { Causes } from './causes.ts';
import { Findings } from './findings.ts';
import { HEARTBEATS, type Item, isHeartbeat, passedWith, sizeOf } from './item.ts';
import { keepNewest } from './newest.ts';
import { managerOf } from './own-changes.ts';
import { type Begun, type Ended, idsIn, Reconciles } from './reconciles.ts';
import { type CallRecord, callSummary, type ReconcileRecord, reconcileSummary, summaryOf } from './record.ts';
import { withoutSecrets } from './redacted.ts';
import type { ReportedHooks } from './reported.ts';
import { Sampling } from './sampling.ts';
import { saysThrottled } from './throttled.ts';
import { jsonIn, objectIn, Versions } from './versions.ts';
import { passedEvent, watchedEvent } from './watched.ts';

/** The limit for what waits to be recorded, in bytes. Above it, calls are not recorded. */
const MOST_WAITING = 32 * 2 ** 20;
/** A reconcile is shown when it has happened, however many there are. */
const MOST_WAIT_MS = 500;
/** An answer that the controller has read can be noted a moment after the end of the reconcile that asked. */
const LATE_MS = 150;
const LOOK_EVERY_MS = 10_000;
/** The verbs that change an object of this name. */
const CHANGING = new Set(['update', 'patch', 'apply', 'delete']);
const MOST_ASKED = 10_000;
const MOST_LOOKED_AT = 100;

export interface CallRecorderOptions {
  /** The fields that the user wants replaced. */
  paths: PathStep[][];
  /** The build that runs now. */
  build(): string | undefined;
  /** Nothing is found wrong after it has aborted: the in-cluster manager writes again, and the controller may not. */
  signal: AbortSignal;
  /** Called with each call and each reconcile that is recorded. */
  onRecord?(recorded: CallSummary | ReconcileSummary): void;
}

/** Records the controller's calls and reconciles after they were answered. */
export class CallRecorder implements AsyncDisposable {
  #recording: Recording;
  #options: CallRecorderOptions;
  #emit: Emit;
  #warn: ReturnType<typeof createWarner>;
  #backlog: Backlog<Item>;
  #versions = new Versions();
  #causes = new Causes();
  #reconciles = new Reconciles();
  #findings: Findings;
  #sampling: Sampling;
  #isLooking = false;
  #isLosing = false;
  #calls = 0;
  #ended = 0;
  #asked = new Map<string, true>();
  #written = Promise.resolve();
  /** What is worked on a moment later. */
  #late = new Map<NodeJS.Timeout, Item>();

  constructor(recording: Recording, options: CallRecorderOptions, emit: Emit) {
    this.#recording = recording;
    this.#options = options;
    this.#emit = emit;
    this.#sampling = new Sampling(emit);
    this.#findings = new Findings((warning) => {
      if (options.signal.aborted) return;
      emit(warning);
      this.#sampling.warned(warning);
    });
    this.#warn = createWarner(emit);
    const missed = createTally((calls) => {
      const { loop } = this.#sampling;
      emit(notice('calls.not-listed', { calls, ...(loop && { loop }) }));
    });
    this.#backlog = new Backlog({
      ...{ mostBytes: MOST_WAITING, mostWaitMs: MOST_WAIT_MS, sizeOf },
      work: (item) => {
        try {
          this.#work(item);
        } catch (error) {
          // What the cluster sends can have any shape, and must not end the session.
          this.#warn(notice('calls.not-recorded', { cause: messageOf(error) }));
        }
      },
      onSlice: (dropped) => {
        missed(dropped);
        this.#written = this.#recording
          .flush()
          .catch((error) => this.#warn(notice('calls.not-recorded', { cause: messageOf(error) })));
      },
    });
  }

  readonly hooks: CallHooks = {
    served: (served) => {
      // Also of a write that is not recorded.
      const manager = isWrite(served.call) ? managerOf(served.call, served.headers) : undefined;
      if (manager !== undefined) this.#findings.writesAs(manager);
      const isFailure = (served.answer?.status ?? 500) >= 400;
      if (!isFailure && this.#sampling.leavesOut(served.headers['devloop-reconcile'])) return;
      this.#push({ served, build: this.#options.build() });
    },
    watched: (watched, at, call) => this.#push({ watched, at, wall: Date.now(), call }),
  };

  readonly reported: ReportedHooks = {
    begun: (begun) => {
      if (!this.#sampling.begun(begun, this.#backlog.waitedMs))
        this.#push({ begun, build: this.#options.build() });
    },
    ended: (ended) => {
      if (!this.#sampling.leavesOut(ended.reconcile)) this.#later({ ended }, LATE_MS);
    },
  };

  /** Whether the object of a write is to be read before, because no version of it has passed; only once for each. */
  asksBefore(call: ApiCall): boolean {
    const { verb, path, resource } = call;
    if (resource?.name === undefined || !CHANGING.has(verb) || !isVersion(call)) return false;
    if (HEARTBEATS.has(`${resource.group}/${resource.resource}`)) return false;
    if (this.#asked.has(path) || this.#versions.has(resource) || this.#isWaiting(resource)) return false;
    keepNewest(this.#asked, MOST_ASKED, path, true);
    return true;
  }

  /** Whether it has just passed, and is not worked on yet, as an object that is created and written at once. */
  #isWaiting({ group, version, resource, name }: CalledResource): boolean {
    const named = `"name":${JSON.stringify(name)}`;
    return this.#backlog.items.slice(-MOST_LOOKED_AT).some((item) => {
      const { body, of } = passedWith(item);
      const isOf = of?.resource === resource && of.group === group && of.version === version;
      return isOf && body?.includes(named) === true;
    });
  }

  /** What devloop has read for that. */
  read(read: Buffer, call: ApiCall): void {
    this.#push({ read, at: dateOf(), call });
  }

  /** A line of the controller's log. It can arrive before the begin of its reconcile, which is reported on another way. */
  logged(line: string): void {
    if (idsIn(line).some((id) => !this.#sampling.leavesOut(id))) this.#later({ line }, LATE_MS / 2);
    if (saysThrottled(line)) this.#push({ throttled: line, at: Date.now() });
  }

  /** The process has ended, and so have the reconciles that it ran. */
  exited(): void {
    this.#sampling.exited();
    this.#later({ exitedAt: Date.now() }, LATE_MS);
  }

  /** Resolves when each call and reconcile of which `onRecord` knows can be read from the recording. */
  async written(): Promise<void> {
    await this.#written;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [timer, item] of this.#late) {
      clearTimeout(timer);
      this.#push(item);
    }
    this.#late.clear();
    await this.#backlog[Symbol.asyncDispose]();
    for (const timer of this.#late.keys()) clearTimeout(timer);
    await this.#written;
  }

  /** Whoever calls this begins something else: what the controller does again and again is counted from now on. */
  anew(): void {
    this.#push({ anew: true });
  }

  #record(record: CallRecord | ReconcileRecord): void {
    this.#recording.add(record);
    this.#options.onRecord?.(summaryOf(record));
  }

  #push(item: Item): void {
    if (this.#backlog.push(item)) this.#isLosing = false;
    else if (!this.#isLosing) this.#isLosing = this.#backlog.push({ lost: true });
  }

  #later(item: Item, ms: number): void {
    const timer = setTimeout(() => {
      this.#late.delete(timer);
      this.#push(item);
    }, ms);
    this.#late.set(timer, item);
  }

  #work(item: Item): void {
    if ('served' in item) this.#served(item.served, item.build);
    else if ('read' in item) this.#read(item);
    else if ('watched' in item) this.#watched(item);
    else if ('begun' in item) this.#begun(item.begun, item.build);
    else if ('line' in item) this.#reconciles.logged(item.line);
    else if ('throttled' in item) this.#findings.logged(item.throttled, item.at);
    else if ('ended' in item) this.#end(item.ended);
    else if ('look' in item) this.#look();
    else if ('lost' in item) this.#lost();
    else if ('anew' in item) this.#findings.anew();
    else
      for (const reconcile of this.#reconciles.cutOffAt(item.exitedAt))
        this.#end({ reconcile, at: item.exitedAt, result: 'ended' });
  }

  #served(served: ServedCall, build: string | undefined): void {
    const id = `c-${String(this.#calls + 1).padStart(6, '0')}`;
    const watchError = this.#findings.watchError(served.call);
    const context = { id, versions: this.#versions, paths: this.#options.paths, build, watchError };
    const recorded = callRecord(served, context);
    const part = isHeartbeat(recorded.record) ? undefined : this.#called(recorded, served.at);
    this.#findings.served(served, recorded, part);
    this.#lookLater();
  }

  /** Returns the reconcile that made the call, if that is known. */
  #called({ record, answered }: RecordedCall, at: number): Begun | undefined {
    this.#calls += 1;
    const written = record.isWrite ? answered : undefined;
    if (written && record.reconcile === undefined) record.after = this.#causes.shortlyBefore(written, at);
    this.#record(record);
    if (written && !record.isUnchanged) {
      const { changes, more } = record;
      // The event of a write can tell that the controller woke itself.
      this.#causes.wrote(written, { ...(changes && { changes }), ...(more && { more }) });
    }
    const part = this.#reconciles.called(record);
    if (!part && record.isWrite) this.#emit({ type: 'call', ...callSummary(record) });
    return part;
  }

  #read({ read, at, call: { resource: of } }: Extract<Item, { read: Buffer }>): void {
    const object = objectIn(jsonIn(read));
    if (object) this.#versions.add({ of, object, at });
  }

  #watched({ watched: line, at, wall, call }: Extract<Item, { watched: Buffer }>): void {
    const passed = passedEvent(line);
    this.#findings.watched(passed, call, wall);
    this.#lookLater();
    const watched = watchedEvent(
      { passed, at, call },
      { versions: this.#versions, paths: this.#options.paths },
    );
    if (watched) this.#causes.add(watched.object, watched.event, wall);
  }

  #lookLater(): void {
    if (this.#isLooking || !this.#findings.isWaiting) return;
    this.#isLooking = true;
    this.#later({ look: true }, LOOK_EVERY_MS);
  }

  #look(): void {
    this.#isLooking = false;
    this.#findings.look(Date.now());
    this.#lookLater();
  }

  /** What is known of objects may be old by now. */
  #lost(): void {
    this.#versions = new Versions();
    this.#reconciles.lost();
    this.#findings.lost();
  }

  #begun(begun: Begun, build: string | undefined): void {
    this.#findings.begun(begun);
    this.#reconciles.begin(begun, this.#causes.before(begun.controller, begun, begun.at), build);
  }

  #end(ended: Ended): void {
    const isComplete = this.#reconciles.isComplete(ended.reconcile);
    const id = `k-${String(this.#ended + 1).padStart(6, '0')}`;
    const ofReconcile = this.#reconciles.end(ended, id);
    if (ofReconcile === undefined) return;
    const { error, log, ...facts } = ofReconcile;
    const record = { ...facts, ...withoutSecrets({ error, log }, false, this.#options.paths) };
    this.#ended += 1;
    this.#record(record);
    this.#emit({ type: 'reconcile', ...reconcileSummary(record) });
    if (isComplete) this.#findings.reconciled(record);
  }
}
