import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceTextFile } from '../machine/text-file.ts';
import type { Needs, NeedsSum } from './needs.ts';

/** As in `CALLS_VERSION`, it is increased when a field is removed or changes its meaning. */
const VERSION = 1;
const EVERY_MS = 300;

/** Whose session it is, so that its needs can be compared with the cluster's roles from any terminal. */
export interface NeedsOf {
  /** When it began, as an ISO time. */
  since: string;
  cluster: { context: string; server: string; kubeconfig: string[] };
  /** That of the operator. */
  namespace: string;
  /** The ServiceAccount of the manager, also if the controller works as the user; absent if there is no manager. */
  account?: { namespace: string; name: string };
}

export type SessionNeeds = NeedsOf & NeedsSum;

/** Keeps what the session's calls need in its directory. Its end writes what is left to be written. */
export class NeedsFile implements AsyncDisposable {
  #write: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();

  /** `onError`: it cannot be written, which is tried again with the next change. */
  constructor(
    directory: string,
    { of, needs }: { of: NeedsOf; needs: Needs },
    onError: (error: unknown) => void,
  ) {
    this.#write = () => {
      const kept = { v: VERSION, ...of, ...needs.sum() };
      return replaceTextFile(fileIn(directory), JSON.stringify(kept)).catch(onError);
    };
  }

  changed(): void {
    this.#timer ??= setTimeout(() => this.#flush(), EVERY_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#timer) this.#flush();
    await this.#writing;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(this.#write);
  }
}

/** Undefined if the session has recorded none, or another version of devloop did. */
export async function readNeeds(directory: string): Promise<SessionNeeds | undefined> {
  try {
    const kept = JSON.parse(await readFile(fileIn(directory), 'utf8')) as SessionNeeds & { v: number };
    return kept.v === VERSION ? kept : undefined;
  } catch {
    return undefined;
  }
}

function fileIn(directory: string): string {
  return join(directory, 'needs.json');
}
