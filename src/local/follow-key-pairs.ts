import { sleep } from '../async.ts';
import type { Work } from '../cluster/work.ts';
import { messageOf } from '../errors.ts';
import { rereadCalls } from '../operator/webhooks.ts';
import { type FoundPair, findKeyPair, type KeyPairSearch, type KeyPairs } from './key-pairs.ts';
import { distrustWarnings, notRefreshed } from './trust.ts';

export interface Following extends Pick<Work, 'emit' | 'signal'> {
  /** Returns a signal that aborts when it is time to look at once; if absent, devloop looks every few seconds. */
  next?: () => AbortSignal;
}

/** Looks for renewals of all key pairs until the signal aborts, and passes each to `use`. Warns about callers that no longer trust them. */
export async function followKeyPairs(
  search: KeyPairSearch,
  pairs: KeyPairs,
  use: (serverName: string, renewed: FoundPair) => Promise<void>,
  work: Following,
): Promise<void> {
  await Promise.all(
    search.target.services.map(async (service) => {
      const { serverName } = service;
      const first = pairs.get(serverName)!;
      let warned = distrustWarnings(service, first, new Date()).map(({ message }) => message);
      const find = async (isDue: boolean): Promise<FoundPair> => {
        const calls = await rereadCalls(search.api, service);
        const found = await findKeyPair(search, { ...service, calls }, () => {});
        if (!isDue) return found;
        const now = search.called?.().find((one) => one.serverName === serverName) ?? { ...service, calls };
        const warnings = distrustWarnings(now, found, new Date());
        for (const warning of warnings) if (!warned.includes(warning.message)) work.emit(warning);
        warned = warnings.map(({ message }) => message);
        return found;
      };
      await followKeyPair(first, find, (renewed) => use(serverName, renewed), work);
    }),
  );
}

const LOOK_EVERY_MS = 5_000;

/**
 * Like `followKeyPairs`, for one key pair. A Secret that is unusable for a moment causes one warning, and is read again. `find` gets whether the
 * look is one of those every few seconds: those in between come while somebody writes one object after the other, so they warn of nothing.
 */
export async function followKeyPair(
  first: FoundPair,
  find: (isDue: boolean) => Promise<FoundPair>,
  use: (renewed: FoundPair) => Promise<unknown>,
  { emit, signal, next = () => signal }: Following,
): Promise<void> {
  let current = contentOf(first);
  let reported = '';
  let due = performance.now() + LOOK_EVERY_MS;
  for (let sooner = next(); ; ) {
    const isDue = await sleep(Math.max(0, due - performance.now()), AbortSignal.any([signal, sooner]));
    if (signal.aborted) return;
    if (isDue) due = performance.now() + LOOK_EVERY_MS;
    // What changes from here on may be missed by this look.
    sooner = next();
    try {
      current = await useRenewed(current, () => find(isDue), use, signal);
      if (isDue) reported = '';
    } catch (error) {
      if (!isDue) continue;
      const message = messageOf(error);
      if (message !== reported) emit(notRefreshed(error, first.secret));
      reported = message;
    }
  }
}

/** Searches once for a renewal, and returns the content of the key pair that is in use afterwards. */
export async function useRenewed(
  current: string,
  find: () => Promise<FoundPair>,
  use: (renewed: FoundPair) => Promise<unknown>,
  signal: AbortSignal,
): Promise<string> {
  const found = await find();
  // An aborted session removes its files, so nothing must be written after that.
  if (signal.aborted) return current;
  if (contentOf(found) !== current) await use(found);
  return contentOf(found);
}

/** If devloop issues the pair, each search makes a new one, so the CA is compared instead. */
function contentOf({ pair, issuer = pair }: FoundPair): string {
  return issuer.certificate + issuer.key;
}
