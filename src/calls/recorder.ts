import type { ApiCall } from '../api-proxy/api-call.ts';
import type { CallHooks, ServedCall } from '../api-proxy/observed.ts';
import { createWarner } from '../async.ts';
import { Backlog } from '../backlog.ts';
import type { PathStep } from '../config/json-path.ts';
import { messageOf } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { notice, type Told } from '../report/notices/catalogue.ts';
import type { Recording } from '../reviews/recording.ts';
import { callRecord } from './call-record.ts';
import { Causes } from './causes.ts';
import { Lists } from './lists.ts';
import { type Begun, type Ended, namesReconcile, Reconciles } from './reconciles.ts';
import { callSummary, reconcileSummary } from './record.ts';
import { withoutSecrets } from './redacted.ts';
import type { ReportedHooks } from './reported.ts';
import { saysThrottled, Throttled } from './throttled.ts';
import { Versions } from './versions.ts';
import { Warnings } from './warnings.ts';
import { watchedEvent } from './watched.ts';
import { Watches } from './watches.ts';

/** The limit for what waits to be recorded, in bytes. Above it, calls are not recorded. */
const MOST_WAITING = 32 * 2 ** 20;
/** What a call takes besides its bodies. */
const EACH_BYTES = 1_000;
/** An answer that the controller has read can be noted a moment after the end of the reconcile that asked. */
const LATE_MS = 150;
/** What an idle controller writes again and again: it is counted by nobody, unless it fails. */
const HEARTBEATS = new Set(['coordination.k8s.io/leases', 'events.k8s.io/events', '/events']);

type Item =
  | { served: ServedCall; build: string | undefined }
  /** `wall`: by the clock that the controller has, too. */
  | { watched: Buffer; at: number; wall: number; call: ApiCall }
  | { begun: Begun; build: string | undefined }
  | { ended: Ended }
  | { line: string }
  /** A line of the log that says that client-go held a call back. */
  | { throttled: string; at: number }
  | { exitedAt: number };

export interface CallRecorderOptions {
  /** The fields that the user wants replaced. */
  paths: PathStep[][];
  /** The build that runs now. */
  build(): string | undefined;
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
  #warnings = new Warnings();
  #throttled = new Throttled();
  #lists = new Lists();
  #watches = new Watches();
  #calls = 0;
  #ended = 0;
  #written = Promise.resolve();
  /** What is worked on a moment later. */
  #late = new Map<NodeJS.Timeout, Item>();

  constructor(recording: Recording, options: CallRecorderOptions, emit: Emit) {
    this.#recording = recording;
    this.#options = options;
    this.#emit = emit;
    this.#warn = createWarner(emit);
    this.#backlog = new Backlog({
      ...{ mostBytes: MOST_WAITING, sizeOf },
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

  /** A line of the controller's log. It can arrive before the begin of its reconcile, which is reported on another way. */
  logged(line: string): void {
    if (namesReconcile(line)) this.#later({ line }, LATE_MS / 2);
    if (saysThrottled(line)) this.#backlog.push({ throttled: line, at: Date.now() });
  }

  /** The process has ended, and so have the reconciles that it ran. */
  exited(): void {
    this.#later({ exitedAt: Date.now() }, LATE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [timer, item] of this.#late) {
      clearTimeout(timer);
      this.#backlog.push(item);
    }
    this.#late.clear();
    await this.#backlog[Symbol.asyncDispose]();
    await this.#written;
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
    else if ('watched' in item) this.#watched(item);
    else if ('begun' in item) this.#begun(item.begun, item.build);
    else if ('line' in item) this.#reconciles.logged(item.line);
    else if ('throttled' in item) this.#tell(this.#throttled.logged(item.throttled, item.at));
    else if ('ended' in item) this.#end(item.ended);
    else
      for (const reconcile of this.#reconciles.runningSince(item.exitedAt))
        this.#end({ reconcile, at: item.exitedAt, result: 'ended' });
  }

  #served(served: ServedCall, build: string | undefined): void {
    const id = `c-${String(this.#calls + 1).padStart(6, '0')}`;
    const watchError = this.#watches.errorOf(served.call);
    const context = { id, versions: this.#versions, paths: this.#options.paths, build, watchError };
    const { record, answered } = callRecord(served, context);
    const hasFailed = record.code === undefined || record.code >= 400;
    this.#throttled.called(record);
    this.#tell(this.#lists.called(served, record));
    this.#tell(this.#watches.called(served, record));
    const isOfMany = record.verb === 'list' || record.verb === 'watch';
    if (!hasFailed && !isOfMany && HEARTBEATS.has(`${record.group}/${record.resource}`)) return;
    this.#calls += 1;
    const written = record.isWrite ? answered : undefined;
    if (written && record.reconcile === undefined)
      record.after = this.#causes.shortlyBefore(written, served.at);
    this.#recording.add(record);
    if (written && !record.isUnchanged) {
      const { changes, more } = record;
      // The event of a write can tell that the controller woke itself.
      this.#causes.wrote(written, { ...(changes && { changes }), ...(more && { more }) });
    }
    const part = this.#reconciles.called(record);
    if (!part && record.isWrite) this.#emit({ type: 'call', ...callSummary(record) });
    this.#tell(this.#warnings.called(record, part?.controller));
  }

  #watched({ watched: line, at, wall, call }: Extract<Item, { watched: Buffer }>): void {
    this.#watches.watched(line, call);
    const watched = watchedEvent(
      { line, at, call },
      { versions: this.#versions, paths: this.#options.paths },
    );
    if (watched) this.#causes.add(watched.object, watched.event, wall);
  }

  #begun(begun: Begun, build: string | undefined): void {
    this.#reconciles.begin(begun, this.#causes.before(begun.controller, begun, begun.at), build);
  }

  #end(ended: Ended): void {
    const id = `k-${String(this.#ended + 1).padStart(6, '0')}`;
    const ofReconcile = this.#reconciles.end(ended, id);
    if (ofReconcile === undefined) return;
    const { error, log, ...facts } = ofReconcile;
    const record = { ...facts, ...withoutSecrets({ error, log }, false, this.#options.paths) };
    this.#ended += 1;
    this.#recording.add(record);
    this.#emit({ type: 'reconcile', ...reconcileSummary(record) });
    this.#tell(this.#warnings.reconciled(record));
  }

  #tell(warnings: Told<'warning'>[]): void {
    for (const one of warnings) this.#emit(one);
  }
}

function sizeOf(item: Item): number {
  if ('watched' in item) return item.watched.length + EACH_BYTES;
  if ('line' in item) return item.line.length + EACH_BYTES;
  if (!('served' in item)) return EACH_BYTES;
  return (item.served.answer?.body?.length ?? 0) + EACH_BYTES;
}
