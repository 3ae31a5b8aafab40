import { posix } from 'node:path';
import { sleep } from '../async.ts';
import { LONGEST_BUDGET_MS } from './budget.ts';

/** How long a review on an unknown path waits for `accept`: kube-apiserver may call a new webhook before devloop has read it. */
const LEARN_MS = 1_000;
/**
 * kube-apiserver calls the webhooks that existed when it began to handle a request, one after the other, even those that have been removed
 * since.
 */
const FORGET_MS = LONGEST_BUDGET_MS;

/** The paths on which a gateway accepts reviews. There are none at first. */
export interface Paths {
  /** After this call, only these paths are accepted, as webhook configurations and CRDs write them, and for 30 s also the earlier ones. */
  accept(paths: Iterable<string>): void;
  /** Whether reviews are accepted at this URL. The signal ends the wait for an unknown path. */
  takes(url: string, signal: AbortSignal): Promise<boolean>;
  /** Called when devloop begins to check whether the controller serves these paths. Each call replaces the paths of the call before. */
  ask(paths: Iterable<string>): void;
  /** Resolves when the path of this URL is not being checked, or when the signal aborts. */
  asked(url: string, signal: AbortSignal): Promise<void>;
  /** After this call, the controller counts as serving all paths except these. */
  refuse(paths: Iterable<string>): void;
  /** Whether the controller does not serve the path of this URL. */
  isRefused(url: string): boolean;
}

export function createPaths(forgetMs = FORGET_MS): Paths {
  /** The time until which each path is accepted, on the clock of `performance.now()`. */
  let accepted = new Map<string, number>();
  let asking = new Set<string>();
  let refused = new Set<string>();
  const waiting = new Set<() => void>();
  const until = async (isSo: () => boolean, limitMs: number, signal: AbortSignal): Promise<void> => {
    if (isSo()) return;
    const changed = new AbortController();
    const check = (): void => void (isSo() && changed.abort());
    waiting.add(check);
    await sleep(limitMs, AbortSignal.any([signal, changed.signal]));
    waiting.delete(check);
  };
  return {
    accept(paths) {
      const now = performance.now();
      const before = [...accepted].filter(([, until]) => until > now);
      const called = [...paths].map((path): [string, number] => [asCalled(path), Number.POSITIVE_INFINITY]);
      const leaving = before.map(([path, until]): [string, number] => [
        path,
        Math.min(until, now + forgetMs),
      ]);
      accepted = new Map([...leaving, ...called]);
      for (const check of waiting) check();
    },
    async takes(url, signal) {
      const path = pathOf(url);
      const isTaken = (): boolean => (accepted.get(path) ?? 0) > performance.now();
      await until(isTaken, LEARN_MS, signal);
      return isTaken();
    },
    ask(paths) {
      asking = new Set([...paths].map(asCalled));
      for (const check of waiting) check();
    },
    asked: (url, signal) => until(() => !asking.has(pathOf(url)), LONGEST_BUDGET_MS, signal),
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

/** The paths that kube-apiserver requests from the server of an API to list everything that it serves. */
const ABOUT_ALL = ['/apis', '/openapi/v2', '/openapi/v3'];

/**
 * Whether a request is for one of these APIs, which have the names of their APIServices. kube-apiserver requests each of them repeatedly,
 * so such a request does not come from a stranger, although the gateway does not serve it.
 */
export function isForApi(url: string, apis: readonly string[]): boolean {
  if (apis.length === 0) return false;
  const path = pathOf(url);
  return ABOUT_ALL.includes(path) || apis.map(rootOf).some((root) => `${path}/`.startsWith(`${root}/`));
}

/** `v1.shop.example.com` is served below `/apis/shop.example.com/v1`. */
function rootOf(api: string): string {
  const [version, ...group] = api.split('.');
  return `/apis/${group.join('.')}/${version}`;
}
