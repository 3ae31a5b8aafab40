import { appendFile, cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What remains to read when the demo fails. */
export interface Logs {
  directory: string;
  append(name: string, text: string): void;
  /** Copies the logs of a cluster that is about to be removed. */
  copy(from: string): Promise<void>;
  hasAny(): Promise<boolean>;
  remove(): Promise<void>;
}

export async function createLogs(): Promise<Logs> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-demo-logs-'));
  let written: Promise<unknown> = Promise.resolve();
  return {
    directory,
    append(name, text) {
      written = written.then(() => appendFile(join(directory, name), text)).catch(() => {});
    },
    async copy(from) {
      await cp(from, join(directory, 'cluster'), { recursive: true }).catch(() => {});
    },
    async hasAny() {
      await written;
      return (await readdir(directory)).length > 0;
    },
    async remove() {
      await written;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
