import { join } from 'node:path';

/** A controller in another language: answers every review with its name and port. */
export const HOOK_SERVER = join(import.meta.dirname, '../fixtures/e2e/hook-server.mjs');

/** The words behind the options of `up` that run it. */
export function hookServer(name: string, ...ports: string[]): string[] {
  return ['--', process.execPath, HOOK_SERVER, name, ...ports];
}
