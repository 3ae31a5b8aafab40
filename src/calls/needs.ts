import { askedOf, impersonated, impersonates, verbsOf } from '../api-proxy/access.ts';
import type { ApiCall } from '../api-proxy/api-call.ts';
import type { ServedCall } from '../api-proxy/observed.ts';
import type { Access, Need } from '../report/rbac.ts';

/** Limits, so that a session of hours needs no more memory than one of minutes. */
const MOST_ACCESSES = 1_000;
const MOST_NAMESPACES = 50;
const MOST_NAMES = 20;
const MOST_NEEDS = 5_000;
const MOST_NAMES_OF_ALL = 20_000;
const LONGEST = 300;

export interface NeedsSum {
  needs: Need[];
  /** All calls, also those that are no longer kept one by one. */
  calls: number;
  /** What was left out, because there was too much of it. */
  cut?: ('accesses' | 'namespaces')[];
}

interface Outcome {
  calls: number;
  refused: number;
  mayCreate?: boolean;
}

/** What all calls of a session needed from RBAC: a sum, from which nothing is dropped as the session goes on. */
export class Needs {
  /** By verb and resource, and then by namespace. */
  #all = new Map<string, Map<string, Need>>();
  #calls = 0;
  #needs = 0;
  #names = 0;
  #cut = new Set<'accesses' | 'namespaces'>();

  /** A watch that was accepted. It can stay open for minutes. */
  opened(call: ApiCall, headers: ServedCall['headers']): void {
    this.#add(call, headers, 200);
  }

  served({ call, headers, answer, isOwn }: ServedCall): void {
    if (call.verb === 'watch' && answer?.status === 200) return;
    // What devloop answered itself, the API server has not judged.
    this.#add(call, headers, isOwn ? 0 : (answer?.status ?? 0));
  }

  sum(): NeedsSum {
    const needs = [...this.#all.values()].flatMap((places) => [...places.values()]);
    return { needs, calls: this.#calls, ...(this.#cut.size > 0 && { cut: [...this.#cut] }) };
  }

  #add(call: ApiCall, headers: ServedCall['headers'], status: number): void {
    this.#calls += 1;
    if (impersonates(headers)) {
      for (const one of impersonated(headers)) this.#count(one, { calls: 1, refused: 0 });
      return;
    }
    const { verb, next } = verbsOf(call);
    const asked = askedOf(call);
    const isRefused = status === 403;
    const creates = next === 'create';
    const refused = isRefused ? 1 : 0;
    this.#count({ ...asked, verb }, { calls: 1, refused, mayCreate: isRefused && creates });
    if (creates && status === 201) this.#count({ ...asked, verb: next }, { calls: 1, refused: 0 });
    // Also an uncached list can succeed, so only one that was refused counts for a cache's.
    if (next === 'list' || (next === 'watch' && isRefused))
      this.#count({ ...asked, verb: next }, { calls: 0, refused: 0 });
  }

  #count({ name = '', ...access }: Access, { calls, refused, mayCreate }: Outcome): void {
    const { verb, group, resource, path, namespace = '' } = access;
    const places = entryOf(
      this.#all,
      JSON.stringify([verb, group, resource, path]),
      MOST_ACCESSES,
      newPlaces,
    );
    const isTooLong = Object.values({ ...access, name }).some((one) => one.length > LONGEST);
    if (places === undefined || isTooLong) return void this.#cut.add('accesses');
    const most = this.#needs < MOST_NEEDS ? MOST_NAMESPACES : 0;
    const need = entryOf(places, namespace, most, () => this.#fresh(access));
    if (need === undefined) return void this.#cut.add('namespaces');
    need.calls += calls;
    need.refused += refused;
    if (mayCreate) need.mayCreate = true;
    if (need.names.includes(name)) return;
    if (need.names.length === MOST_NAMES || this.#names === MOST_NAMES_OF_ALL) need.moreNames = true;
    else {
      need.names.push(name);
      this.#names += 1;
    }
  }

  #fresh(access: Omit<Need, 'names' | 'calls' | 'refused'>): Need {
    this.#needs += 1;
    return { ...access, names: [], calls: 0, refused: 0 };
  }
}

const newPlaces = (): Map<string, Need> => new Map();

/** Undefined if there would be too many. */
function entryOf<Value>(
  all: Map<string, Value>,
  key: string,
  most: number,
  create: () => Value,
): Value | undefined {
  const known = all.get(key);
  if (known !== undefined || all.size >= most) return known;
  const fresh = create();
  all.set(key, fresh);
  return fresh;
}
