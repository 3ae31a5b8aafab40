import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getRawAsset, isSea } from 'node:sea';

/** How devloop itself is started. An executable is Node and devloop in one file (docs/adr/0048). */
export function ownCommand(): string[] {
  return isSea() ? [process.execPath] : [process.execPath, process.argv[1]!];
}

/** The flag with which `process.execPath` runs the script that follows, with the words after it as `process.argv.slice(1)`. */
export function scriptFlag(): string {
  return isSea() ? '--run-script' : '-e';
}

/** A file that the build puts beside the program, or into the executable. */
export async function builtFile(name: string): Promise<Buffer> {
  return isSea() ? Buffer.from(getRawAsset(name)) : await readFile(join(import.meta.dirname, name));
}
