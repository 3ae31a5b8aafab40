import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A controller in another language: answers every review with its name and port. */
export const HOOK_SERVER = join(import.meta.dirname, '../fixtures/e2e/hook-server.mjs');

/** The arguments after the flags of `up` that run it. */
export function hookServer(name: string, ...ports: string[]): string[] {
  return ['--', process.execPath, HOOK_SERVER, name, ...ports];
}

/** A copy of it in a checkout, which can be saved with other answers. */
export interface SavedServer {
  /** The arguments after the flags of `up` that run it. */
  command: string[];
  /** Saves it with a new answer, and returns that answer. `edit` changes the program, too. */
  save(edit?: (source: string) => string): Promise<string>;
}

export function savedServer(checkout: string, ...ports: string[]): SavedServer {
  const file = join(checkout, 'server.mjs');
  let saves = 0;
  return {
    command: ['--', process.execPath, file, 'local', ...ports],
    async save(edit = (source) => source) {
      const text = `answered here, ${++saves}.`;
      await writeFile(file, edit((await readFile(HOOK_SERVER, 'utf8')).replace('says no', text)));
      return text;
    },
  };
}
