import { showProgress } from '../../test/cluster/progress.ts';
import type { Logs } from './logs.ts';
import type { Narrator } from './narrator.ts';

/** What `--keep` leaves: enough to use it, and to end it from another process. */
export interface Kept {
  checkout: string;
  /** The directory of etcd and kube-apiserver; absent if there is a cluster. */
  assets?: string;
  /** The kubeconfig of the demo's own cluster; absent if the user chose a cluster. */
  kubeconfig?: string;
  clusterDirectory?: string;
  context?: string;
  /** A replacement for kubectl if none is installed. */
  kubectl?: string;
}

/** The cluster of the demo, with the sample operator deployed; or, if it is embedded, an API server that runs while devloop does. */
export interface DemoCluster extends AsyncDisposable {
  embedded: boolean;
  /** What devloop needs to find the cluster. */
  devloop: { args: string[]; env: Record<string, string> };
  /** What a person would type for kubectl. */
  kubectlName: string;
  /** Returns what kubectl printed; rejects with kubectl's own message. */
  kubectl(args: string[]): Promise<string>;
  kept: Kept;
}

export interface Stage {
  cluster: DemoCluster;
  checkout: string;
  logs: Logs;
  narrator: Narrator;
  signal: AbortSignal;
}

/** A failure that explains itself; no stack is shown. */
export class Refusal extends Error {}

/** Like `limited`, and prints what takes a long time. */
export async function within<T>(
  seconds: number,
  what: string,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  const started = performance.now();
  const passed = (): number => Math.round((performance.now() - started) / 1000);
  using _ = showProgress(
    () => `  ${what} (${passed()} s)`,
    (line) => console.log(line),
    process.stdout,
  );
  return await limited(seconds, what, signal, work);
}

/** Bounds anything that could hang, and ends at once on Ctrl-C. For work that prints its own progress. */
export async function limited<T>(
  seconds: number,
  what: string,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const ended = new AbortController();
  const limit = new Promise<never>((_, reject) => {
    const timer = setTimeout(
      () => reject(new Refusal(`${what} took longer than ${seconds} s`)),
      seconds * 1000,
    );
    const leave = (): void => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true, signal: ended.signal });
    ended.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    ended.abort();
  }
}

/** Repeats until the condition holds. */
export async function until(
  seconds: number,
  what: string,
  signal: AbortSignal,
  holds: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  while (!(await holds().catch(() => false))) {
    signal.throwIfAborted();
    if (Date.now() > deadline) throw new Refusal(`${what}: not within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
