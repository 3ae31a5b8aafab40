import { posix } from 'node:path';
import { sleep } from '../async.ts';

/** A path that is not known waits this long for `accept`: kube-apiserver may learn of a new webhook first. */
const LEARN_MS = 1_000;

/** The paths on which a gateway takes reviews. There are none at first. */
export interface Paths {
  /** From now on these, as webhook configurations and CRDs write them, and no others. */
  accept(paths: Iterable<string>): void;
  /** Whether reviews are taken at this URL. The signal ends the wait for an unknown path. */
  takes(url: string, signal: AbortSignal): Promise<boolean>;
  /** From now on the controller serves all paths but these. */
  refuse(paths: Iterable<string>): void;
  /** Whether the controller does not serve the path of this URL. */
  isRefused(url: string): boolean;
}

export function createPaths(): Paths {
  let accepted = new Set<string>();
  let refused = new Set<string>();
  const waiting = new Set<() => void>();
  return {
    accept(paths) {
      accepted = new Set([...paths].map(asCalled));
      for (const check of waiting) check();
    },
    async takes(url, signal) {
      const path = pathOf(url);
      if (accepted.has(path)) return true;
      const learned = new AbortController();
      const check = (): void => void (accepted.has(path) && learned.abort());
      waiting.add(check);
      await sleep(LEARN_MS, AbortSignal.any([signal, learned.signal]));
      waiting.delete(check);
      return accepted.has(path);
    },
    refuse(paths) {
      refused = new Set([...paths].map(asCalled));
    },
    isRefused: (url) => refused.has(pathOf(url)),
  };
}

export function pathOf(url: string): string {
  return url.split('?', 1)[0]!;
}

/** kube-apiserver calls `/a` for `/a/`, and `/` for an empty path. */
export function asCalled(path: string): string {
  const clean = posix.join('/', path);
  return clean === '/' ? clean : clean.replace(/\/$/, '');
}
