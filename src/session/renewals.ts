import { followKeyPairs } from '../local/follow-key-pairs.ts';
import { writeFoundPair } from '../local/key-pair-files.ts';
import type { FoundPair, KeyPairs } from '../local/key-pairs.ts';
import type { TargetService } from '../operator/target.ts';
import { describe } from '../report/object-name.ts';
import type { OpenRoute } from './route/routing.ts';
import type { RunningSession } from './running.ts';
import { keyPairSearch } from './start/controller.ts';

/** What the caBundles of all callers were. A manager that makes its own key pair writes the Secret first, and them a moment later. */
export class ChangedBundles {
  #known: Set<string>;
  #change = new AbortController();

  constructor(services: readonly TargetService[]) {
    this.#known = keysOf(services);
  }

  /** Aborts at the next change. */
  get next(): AbortSignal {
    return this.#change.signal;
  }

  observe(services: readonly TargetService[]): void {
    const now = keysOf(services);
    const isNew = [...now].some((key) => !this.#known.has(key));
    this.#known = now;
    if (!isNew) return;
    const before = this.#change;
    this.#change = new AbortController();
    before.abort();
  }
}

function keysOf(services: readonly TargetService[]): Set<string> {
  const calls = services.flatMap((service) => service.calls);
  return new Set(calls.map(({ from, caBundle }) => `${describe(from)} ${caBundle}`));
}

/** Uses renewed key pairs until disposed. `next`: see `ChangedBundles`. */
export function followRenewals(
  session: Pick<RunningSession, 'context' | 'target' | 'work' | 'called'>,
  parts: { pairs: KeyPairs; keyPairDirectories: string[]; route: OpenRoute; next: () => AbortSignal },
): AsyncDisposable {
  const { context, target, work } = session;
  const ending = new AbortController();
  const search = { ...keyPairSearch(context, target), called: () => session.called };
  const use = (serverName: string, found: FoundPair) =>
    useKeyPair(serverName, found, { ...parts, work, target });
  const signal = AbortSignal.any([work.signal, ending.signal]);
  const following = followKeyPairs(search, parts.pairs, use, { emit: work.emit, signal, next: parts.next });
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await following;
    },
  };
}

/**
 * The gateway gets the key pair first: kube-apiserver verifies the gateway's certificate, and that must not depend on the controller's
 * files.
 */
export async function useKeyPair(
  serverName: string,
  found: FoundPair,
  { work, target, keyPairDirectories, route }: UsingPairs,
): Promise<void> {
  route.gateways.present(serverName, found.pair);
  // The controller serves with the key pair of the first Service; the gateway has those of all Services.
  if (serverName !== target.services[0]?.serverName) return;
  for (const directory of keyPairDirectories) await writeFoundPair(directory, found, work.emit);
}

interface UsingPairs {
  keyPairDirectories: string[];
  work: Pick<RunningSession['work'], 'emit'>;
  target: { services: Pick<TargetService, 'serverName'>[] };
  route: { gateways: Pick<OpenRoute['gateways'], 'present'> };
}
