import type { ApiCall } from '../api-proxy/api-call.ts';
import type { ServedCall } from '../api-proxy/observed.ts';
import type { CallSummary } from '../report/call.ts';
import { notice, type Told } from '../report/notices/catalogue.ts';
import { keepNewest } from './newest.ts';
import { Repetitions } from './repetitions.ts';
import type { PassedEvent } from './watched.ts';

/** Nobody asks for watches as short as this: client-go for five to ten minutes, and the API server by itself ends none for thirty. */
const EARLY_MS = 20_000;
/** Timers of both sides. */
const ABOUT_MS = 1_000;
const MINUTE_MS = 60_000;
const MOST = 1_000;
/** With these the API server says that it cannot answer now, and with 422 that it cannot send what was there before. RBAC's refusals are told at once. */
const NO_END = new Set([401, 403, 408, 422, 429]);

/** The status in the event with which the API server ends a watch. */
interface WatchError {
  code?: unknown;
  message?: unknown;
}

/** Finds watches that end early and begin again, again and again. */
export class Watches {
  #repetitions = new Repetitions({ least: 5, withinMs: 2 * MINUTE_MS });
  #errors = new WeakMap<ApiCall, WatchError>();
  #endedAt = new Map<string, number>();
  #awayAt = -Infinity;

  /** An event of a watch. */
  watched({ type, object }: PassedEvent, call: ApiCall): void {
    if (type === 'ERROR' && typeof object === 'object' && object !== null) this.#errors.set(call, object);
  }

  errorOf(call: ApiCall): WatchError | undefined {
    return this.#errors.get(call);
  }

  called(served: ServedCall, record: CallSummary): Told<'warning'>[] {
    const { call, at, ms } = served;
    const { code, isOwn, selector = '', faults } = record;
    // `devloop fault` has asked for it.
    if (faults !== undefined) return [];
    // Of its end all watches are told at once, and what follows is not their fault.
    if (isOwn || code === undefined || code >= 500) this.#awayAt = Math.max(this.#awayAt, at);
    if (call.verb !== 'watch' || call.resource === undefined || !this.#endsEarly(served)) return [];
    const endedAt = at + ms;
    const key = JSON.stringify([call.path, selector]);
    const before = this.#endedAt.get(key) ?? -Infinity;
    // Several at once end together, as when a CustomResourceDefinition changes.
    if (at < before || at - this.#awayAt < MINUTE_MS) return [];
    keepNewest(this.#endedAt, MOST, key, endedAt);
    const often = this.#repetitions.add({ about: key, subject: key, at: endedAt, details: [] });
    if (often === undefined) return [];
    const { group, resource, namespace } = call.resource;
    const error = this.#errors.get(call);
    const status = typeof error?.code === 'number' ? error.code : code;
    const { message: cause } = record;
    const { times, seconds } = often;
    return [
      notice('calls.watch-restarts', { group, resource, namespace, times, seconds, code: status, cause }),
    ];
  }

  #endsEarly({ call, answer, isOpen, ms }: ServedCall): boolean {
    if (isOpen || answer === undefined) return false;
    const { status, isCut } = answer;
    if (this.#errors.has(call)) return true;
    if (status >= 400) return status < 500 && !NO_END.has(status);
    const seconds = Number(call.query.get('timeoutSeconds') ?? 0);
    const isDue = seconds > 0 && ms > seconds * 1_000 - ABOUT_MS;
    // The controller can end its watches as it likes, and a lost connection is nobody's fault.
    return status === 200 && !isCut && !isDue && ms < EARLY_MS;
  }
}
