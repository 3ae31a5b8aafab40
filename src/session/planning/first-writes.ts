import type { ApiCall } from '../../api-proxy/api-call.ts';
import type { CallHooks, ServedCall } from '../../api-proxy/observed.ts';

/** More different calls than a person reads. */
const MOST = 5_000;
/** What a controller asks for again and again, without anything being new. */
const HEARTBEAT = /\/(?:leases|events)(?:\/|$| )/;
/** What devloop answers in place of a call that cannot be asked without a change. */
const NOT_SENT = 405;

/**
 * Passes on the first write of each kind to each object. What nothing stores, a controller may write again and again. Knows for how long it
 * has asked for nothing new.
 */
export class FirstWrites {
  #seen = new Set<string>();
  #newAt = performance.now();

  /** How long ago the last call was that had not been made before. */
  get quietMs(): number {
    return performance.now() - this.#newAt;
  }

  /** The controller runs from now on. */
  begin(): void {
    this.#newAt = performance.now();
  }

  hooks(of: CallHooks): CallHooks {
    return {
      ...of,
      begun: (call) => {
        of.begun?.(call);
        this.#note(`asked ${call.verb} ${call.path}`);
      },
      served: (served) => void (this.#isNew(served) && of.served(served)),
    };
  }

  #isNew(served: ServedCall): boolean {
    const { call } = served;
    // What is read is needed, to know what a write changes.
    if (!isPlanned(call, served)) return true;
    return this.#note(`${call.verb} ${call.path}${call.verb === 'create' ? ` ${nameOf(served)}` : ''}`);
  }

  /** Returns whether it is new. */
  #note(what: string): boolean {
    if (this.#seen.has(what) || this.#seen.size === MOST || HEARTBEAT.test(what)) return false;
    this.#seen.add(what);
    this.#newAt = performance.now();
    return true;
  }
}

/** Whether a call would have changed something. */
export function isPlanned(call: ApiCall, { answer, isOwn }: Pick<ServedCall, 'answer' | 'isOwn'>): boolean {
  return call.isDryRun || (isOwn === true && answer?.status === NOT_SENT);
}

/** A generated name is another one each time. */
function nameOf({ answer }: ServedCall): string {
  try {
    const { metadata } = JSON.parse(answer?.body?.toString('utf8') ?? '') as { metadata?: Metadata };
    return metadata?.generateName ?? metadata?.name ?? '';
  } catch {
    return '';
  }
}

interface Metadata {
  name?: string;
  generateName?: string;
}
