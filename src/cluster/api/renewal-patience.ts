import { statSync } from 'node:fs';

const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 300_000;
/** A plugin that takes longer than this probably waits for the user. */
const UNATTENDED_MS = 5_000;

/** Decides when a login that has failed is tried again, so that a plugin does not run for each call, nor open a browser again and again. */
export interface Patience {
  /** Called when a login begins; call the result when it has ended, with the state of the kubeconfig by then: the login may have changed it. */
  begin(isInteractive: boolean): (kubeconfig: string) => void;
  /** The last login failed, or its credentials were rejected. */
  failed(): void;
  /** The credentials of the last login were accepted. */
  worked(): void;
  /** Whether a login may be tried. */
  allows(kubeconfig: string): boolean;
  /** A user who asks for a login gets one. */
  reset(): void;
}

export function createPatience(now: () => number = () => performance.now()): Patience {
  let pauseMs = FIRST_PAUSE_MS;
  let triedWith = '';
  let needsUser = false;
  let failedAt: number | undefined;
  const forget = (): void => {
    failedAt = undefined;
  };
  return {
    begin(isInteractive) {
      const startedAt = now();
      return (kubeconfig) => {
        triedWith = kubeconfig;
        needsUser = isInteractive || now() - startedAt > UNATTENDED_MS;
      };
    },
    failed() {
      const isAgain = failedAt !== undefined;
      pauseMs = isAgain ? Math.min(pauseMs * 2, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
      failedAt = now();
    },
    allows(kubeconfig) {
      if (failedAt === undefined || kubeconfig !== triedWith) return true;
      return !needsUser && now() - failedAt >= pauseMs;
    },
    worked: forget,
    reset: forget,
  };
}

/** Changes whenever one of the files does. */
export function kubeconfigState(files: string[]): string {
  const states = files.map((file) => {
    const { ino, size, mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? {};
    return [file, ino, size, mtimeMs];
  });
  return JSON.stringify(states);
}
