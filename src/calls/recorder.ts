import type { ApiCall, CalledResource } from '../api-proxy/api-call.ts';
import type { CallHooks, ServedCall } from '../api-proxy/observed.ts';
import { createWarner } from '../async.ts';
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
import { keepNewest } from './newest.ts';
import { type Begun, type Ended, namesReconcile, Reconciles } from './reconciles.ts';
import { type CallRecord, callSummary, type ReconcileRecord, reconcileSummary, summaryOf } from './record.ts';
import { withoutSecrets } from './redacted.ts';
import type { ReportedHooks } from './reported.ts';
import { saysThrottled } from './throttled.ts';
import { jsonIn, objectIn, Versions } from './versions.ts';
import { passedEvent, watchedEvent } from './watched.ts';

/** The limit for what waits to be recorded, in bytes. Above it, calls are not recorded. */
const MOST_WAITING = 32 * 2 ** 20;
/** A reconcile is shown when it has happened, however many there are. */
const MOST_WAIT_MS = 500;
/** What a call takes besides its bodies. */
const EACH_BYTES = 1_000;
/** An answer that the controller has read can be noted a moment after the end of the reconcile that asked. */
const LATE_MS = 150;
const LOOK_EVERY_MS = 10_000;
/** What an idle controller writes again and again: it is counted by nobody, unless it fails. */
const HEARTBEATS = new Set(['coordination.k8s.io/leases', 'events.k8s.io/events', '/events']);

/** The verbs that change an object of this name. */
const CHANGING = new Set(['update', 'patch', 'apply', 'delete']);
const MOST_ASKED = 10_000;
const MOST_LOOKED_AT = 100;

type Item =
  | { served: ServedCall; build: string | undefined }
  /** `wall`: by the clock that the controller has, too. */
  /** What devloop itself has read before a write. */
  | { read: Buffer; at: number; call: ApiCall }
  | { watched: Buffer; at: number; wall: number; call: ApiCall }
  | { begun: Begun; build: string | undefined }
  | { ended: Ended }
  | { line: string }
  /** A line of the log that says that client-go held a call back. */
  | { throttled: string; at: number }
  /** To look whether something has not happened. */
  | { look: true }
  | { exitedAt: number };

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
  #isLooking = false;
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
    this.#findings = new Findings((warning) => options.signal.aborted || emit(warning));
    this.#warn = createWarner(emit);
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
      onSlice: (missed) => {
        if (missed > 0) this.#warn(notice('calls.not-listed', { calls: missed }));
        this.#written = this.#recording
          .flush()
          .catch((error) => this.#warn(notice('calls.not-recorded', { cause: messageOf(error) })));
      },
    });
  }

  readonly hooks: CallHooks = {
    served: (served) => this.#backlog.push({ served, build: this.#options.build() }),
    watched: (watched, at, call) => this.#backlog.push({ watched, at, wall: Date.now(), call }),
  };

  readonly reported: ReportedHooks = {
    begun: (begun) => this.#backlog.push({ begun, build: this.#options.build() }),
    ended: (ended) => this.#later({ ended }, LATE_MS),
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
    this.#backlog.push({ read, at: dateOf(), call });
  }

  /** A line of the controller's log. It can arrive before the begin of its reconcile, which is reported on another way. */
  logged(line: string): void {
    if (namesReconcile(line)) this.#later({ line }, LATE_MS / 2);
    if (saysThrottled(line)) this.#backlog.push({ throttled: line, at: Date.now() });
  }

  /** The process has ended, and so have the reconciles that it ran. */
  exited(): void {
    this.#later({ exitedAt: Date.now() }, LATE_MS);
  }

  /** Resolves when each call and reconcile of which `onRecord` knows can be read from the recording. */
  async written(): Promise<void> {
    await this.#written;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [timer, item] of this.#late) {
      clearTimeout(timer);
      this.#backlog.push(item);
    }
    this.#late.clear();
    await this.#backlog[Symbol.asyncDispose]();
    for (const timer of this.#late.keys()) clearTimeout(timer);
    await this.#written;
  }

  #record(record: CallRecord | ReconcileRecord): void {
    this.#recording.add(record);
    this.#options.onRecord?.(summaryOf(record));
  }

  #later(item: Item, ms: number): void {
    const timer = setTimeout(() => {
      this.#late.delete(timer);
      this.#backlog.push(item);
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
    else
      for (const reconcile of this.#reconciles.runningSince(item.exitedAt))
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

  #begun(begun: Begun, build: string | undefined): void {
    this.#findings.begun(begun);
    this.#reconciles.begin(begun, this.#causes.before(begun.controller, begun, begun.at), build);
  }

  #end(ended: Ended): void {
    const id = `k-${String(this.#ended + 1).padStart(6, '0')}`;
    const ofReconcile = this.#reconciles.end(ended, id);
    if (ofReconcile === undefined) return;
    const { error, log, ...facts } = ofReconcile;
    const record = { ...facts, ...withoutSecrets({ error, log }, false, this.#options.paths) };
    this.#ended += 1;
    this.#record(record);
    this.#emit({ type: 'reconcile', ...reconcileSummary(record) });
    this.#findings.reconciled(record);
  }
}

function isHeartbeat({ verb, code = 500, group, resource }: CallRecord): boolean {
  const isOfMany = verb === 'list' || verb === 'watch';
  return code < 400 && !isOfMany && HEARTBEATS.has(`${group}/${resource}`);
}

function passedWith(item: Item): { body?: Buffer | undefined; of?: CalledResource | undefined } {
  if ('watched' in item) return { body: item.watched, of: item.call.resource };
  return 'served' in item ? { body: item.served.answer?.body, of: item.served.call.resource } : {};
}

function sizeOf(item: Item): number {
  if ('watched' in item) return item.watched.length + EACH_BYTES;
  if ('read' in item) return item.read.length + EACH_BYTES;
  if ('line' in item) return item.line.length + EACH_BYTES;
  if (!('served' in item)) return EACH_BYTES;
  return (item.served.answer?.body?.length ?? 0) + EACH_BYTES;
}
