import type { ApiCall, CalledResource } from '../../api-proxy/api-call.ts';
import type { CallHooks, ServedCall } from '../../api-proxy/observed.ts';
import type { CallRecord } from '../../calls/record.ts';

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
  #again = new Map<string, number>();
  #newAt = performance.now();
  #lists = 0;

  /** How long ago the last call was that had not been made before; 0 while a list is on its way. */
  get quietMs(): number {
    return this.#lists > 0 ? 0 : performance.now() - this.#newAt;
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
        if (call.verb === 'list') this.#lists += 1;
        this.#note(`asked ${call.verb} ${call.path}`);
      },
      served: (served) => {
        if (served.call.verb === 'list') this.#lists -= 1;
        if (this.#isNew(served)) of.served(served);
      },
    };
  }

  #isNew(served: ServedCall): boolean {
    const { call, answer } = served;
    // What is read is needed, to know what a write changes.
    if (!isPlanned(call, served)) return true;
    const { verb, path, resource = { group: '', resource: path } } = call;
    const { group, namespace, resource: plural, subresource, name } = resource as CalledResource;
    const full = subresource === undefined ? plural : `${plural}/${subresource}`;
    const what = writeKey({ verb, group, namespace, resource: full, name: nameOf(served) || name });
    // What is refused at first may be accepted later.
    if (this.#note(`${what} ${(answer?.status ?? 0) < 400}`)) return true;
    if (this.#again.size < MOST) this.#again.set(what, (this.#again.get(what) ?? 0) + 1);
    return false;
  }

  /** How often a write was repeated. */
  again(record: CallRecord): number {
    const { metadata } = (record.objectAfter ?? {}) as { metadata?: Metadata };
    return this.#again.get(writeKey({ ...record, name: metadata?.generateName ?? record.name })) ?? 0;
  }

  /** Returns whether it is new. */
  #note(what: string): boolean {
    if (this.#seen.has(what) || this.#seen.size === MOST || HEARTBEAT.test(what)) return false;
    this.#seen.add(what);
    this.#newAt = performance.now();
    return true;
  }
}

function writeKey({ verb, group, namespace, resource, name }: Written): string {
  return [verb, group ?? '', namespace ?? '', resource ?? '', name ?? ''].join(' ');
}

/** Whether a call would have changed something. */
export function isPlanned(call: ApiCall, { answer, isOwn }: Pick<ServedCall, 'answer' | 'isOwn'>): boolean {
  return call.isDryRun || (isOwn === true && answer?.status === NOT_SENT);
}

/** A generated name is another one each time. */
function nameOf({ answer }: ServedCall): string {
  try {
    const { metadata, details } = JSON.parse(answer?.body?.toString('utf8') ?? '') as {
      metadata?: Metadata;
      /** Of a Status: what was refused. */
      details?: Pick<Metadata, 'name'>;
    };
    return metadata?.generateName ?? metadata?.name ?? details?.name ?? '';
  } catch {
    return '';
  }
}

type Written = Partial<Pick<CallRecord, 'verb' | 'group' | 'namespace' | 'resource' | 'name'>>;

interface Metadata {
  name?: string;
  generateName?: string;
}
