import type { CallHooks } from '../../api-proxy/observed.ts';
import { sleep } from '../../async.ts';
import { levelOf } from '../../controller/log-level.ts';
import type { ReconcileSummary } from '../../report/call.ts';
import type { DevloopEvent } from '../../report/events.ts';
import type { Named } from './names.ts';

const LOOK_EVERY_MS = 100;
const MOST_LINES = 20;
/** What an idle controller does again and again. */
const HEARTBEATS = new Set(['leases', 'events']);

/**
 * Knows whether the controller is at rest: it runs, nothing that it has written or that has woken it is newer than a time, and its last reconcile of
 * no object has failed. Reconciles without a cause that change nothing do not count, since a controller can look again and again.
 */
export class Activity {
  #at = performance.now();
  #what = 'nothing has happened yet';
  #isRunning = false;
  #reconciles = 0;
  /** When its last process has ended, on the clock of `Date.now()`. */
  #endedAt = 0;
  /** Whether it has called the API server since it has started in this run. */
  #hasCalled = true;
  #failing = new Map<string, string>();
  /** Objects whose reconciles had failed before. */
  #failedBefore = new Set<string>();
  #versions = new Map<string, string>();
  /** The last warnings and errors that the controller has logged. */
  #lines: string[] = [];

  get lines(): string[] {
    return [...this.#lines];
  }

  hooks(of: CallHooks): CallHooks {
    return {
      ...of,
      begun: (call) => {
        of.begun?.(call);
        const { group, version, resource } = call.resource ?? {};
        if (resource === undefined) return;
        this.#versions.set(`${group} ${resource}`, version!);
        // Without reconciles, nothing else tells what a program is at.
        if (HEARTBEATS.has(resource)) return;
        this.#hasCalled = true;
        if (this.#reconciles === 0 && call.verb !== 'watch') this.#happened(`${call.verb} ${resource}`);
      },
    };
  }

  versionOf({ group = '', resource = '' }: Named): string | undefined {
    return this.#versions.get(`${group} ${resource.split('/')[0]}`);
  }

  observe(event: DevloopEvent): void {
    switch (event.type) {
      case 'controller.started':
      case 'controller.exited':
        // What a killed controller says of the calls that were cut is no news.
        if (event.type === 'controller.started') this.#lines = [];
        else this.#endedAt = Date.now();
        this.#isRunning = false;
        this.#reconciles = 0;
        this.#hasCalled = false;
        // It reconciles everything anew, but not what is deleted by then.
        this.#failing.clear();
        this.#happened('the controller starts');
        break;
      case 'controller.ready':
        this.#isRunning = true;
        this.#happened('the controller has started');
        break;
      case 'controller.output':
        if (levelOf(event.line) !== 'detail') this.#lines.push(event.line);
        if (this.#lines.length > MOST_LINES) this.#lines.shift();
        break;
      case 'review':
        this.#happened(`a review of ${event.kind ?? 'an object'}`);
        break;
      case 'call':
        if (event.isWrite && !event.isUnchanged) this.#happened(`${event.verb} ${event.resource ?? ''}`);
        break;
      case 'reconcile':
        this.#reconciled(event);
        break;
      default:
    }
  }

  #reconciled(event: ReconcileSummary): void {
    const { at, result, error = result, calls, after } = event;
    // What a process that has ended was at is known a moment later, and says nothing of the next one's work queues.
    if (Date.parse(at) <= this.#endedAt) return;
    const object = wordsOf(event);
    this.#reconciles += 1;
    const isFailure = result === 'error' || result === 'panic';
    if (isFailure) this.#failing.set(object, error);
    else this.#failing.delete(object);
    const hasWritten = calls.some(({ isUnchanged, code = 500 }) => code < 400 && !isUnchanged);
    if (isFailure || hasWritten || after.length > 0) this.#happened(`a reconcile of ${object}`);
  }

  #happened(what: string): void {
    this.#at = performance.now();
    this.#what = what;
  }

  /** From now on, reconciles are counted anew. */
  begin(): void {
    this.#reconciles = 0;
    this.#hasCalled = true;
    this.#lines = [];
    this.#happened('the run has begun');
  }

  /** What fails now is not the scenario's. */
  forgive(): void {
    this.#failedBefore = new Set(this.#failing.keys());
  }

  /** Why the controller is not at rest, as a sentence; undefined if it is. `reconciles`: whether it has to have reconciled something. */
  unrest(quietMs: number, reconciles: boolean): string | undefined {
    if (!this.#isRunning) return 'The controller does not run.';
    for (const [object, error] of this.#failing)
      if (!this.#failedBefore.has(object)) return `The last reconcile of ${object} has failed: ${error}`;
    if (performance.now() - this.#at < quietMs) return `The last that has happened: ${this.#what}.`;
    if (reconciles && this.#reconciles === 0) return 'It has reconciled nothing.';
    return this.#hasCalled ? undefined : 'It has not called the API server since it has started.';
  }

  get hasReconciles(): boolean {
    return this.#reconciles > 0;
  }

  /** Waits until the controller is at rest. Returns why it is not, if the time is up. */
  async rest(
    { quietMs, limitMs, reconciles = false }: { quietMs: number; limitMs: number; reconciles?: boolean },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const until = performance.now() + limitMs;
    for (;;) {
      const unrest = this.unrest(quietMs, reconciles);
      if (unrest === undefined || performance.now() >= until) return unrest;
      if (!(await sleep(LOOK_EVERY_MS, signal))) signal.throwIfAborted();
    }
  }
}

function wordsOf({ kind, controller, namespace, name }: ReconcileSummary): string {
  return `${kind ?? controller} ${[namespace, name].filter(Boolean).join('/')}`;
}
