import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';

/** What strangers can do at a gateway. */
export type Intrusion = 'connection' | 'request';

/**
 * Counts connections and requests that did not come from kube-apiserver, and warns about them in one line now and then. The line repeats
 * nothing that a stranger sent. Disposing warns about the rest.
 */
export interface Strangers extends Disposable {
  count(what: Intrusion): void;
  /** Counts a connection from an address that is not allowed to connect. */
  keptOut(address: string): void;
  /** Some of the addresses that were kept out. */
  readonly addresses: readonly string[];
}

/** The first warning comes soon after the first stranger; later ones come less often, since they repeat the first. */
const FIRST_MS = 5_000;
const LATER_MS = 60_000;
const MOST_ADDRESSES = 3;

export interface StrangersOptions {
  emit: Emit;
  /** Whether every host that reaches the port can connect. */
  isOpen: boolean;
  firstMs?: number;
}

export function createStrangers({ emit, isOpen, firstMs = FIRST_MS }: StrangersOptions): Strangers {
  const addresses = new Set<string>();
  let counts: Counts = { connection: 0, request: 0, keptOut: 0 };
  let timer: NodeJS.Timeout | undefined;
  let nextMs = firstMs;
  const warn = (): void => {
    timer = undefined;
    nextMs = LATER_MS;
    const { connection: connections, request: requests, keptOut } = counts;
    counts = { connection: 0, request: 0, keptOut: 0 };
    const values = { connections, requests, keptOut, addresses: [...addresses], isOpen };
    emit(notice('gateway.strangers', values));
  };
  const count = (what: keyof Counts): void => {
    counts[what] += 1;
    timer ??= setTimeout(warn, nextMs);
  };
  return {
    count,
    keptOut(address) {
      if (addresses.size < MOST_ADDRESSES) addresses.add(address);
      count('keptOut');
    },
    get addresses() {
      return [...addresses];
    },
    [Symbol.dispose]() {
      if (timer === undefined) return;
      clearTimeout(timer);
      warn();
    },
  };
}

type Counts = Record<Intrusion | 'keptOut', number>;
