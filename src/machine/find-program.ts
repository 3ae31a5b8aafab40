import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Where a program is; `why` says why it cannot be run. */
export type Found = { path: string } | { why: string };

/**
 * Looks a program up on the PATH as Go does: if the first program of that name is in a directory that depends on the current one, nothing is
 * run, because a checkout could contain it.
 */
export function findProgram(command: string, path = ''): Found {
  if (command.includes('/'))
    return isProgram(command) ? { path: command } : { why: 'which is not installed' };
  for (const directory of path.split(delimiter)) {
    const file = join(directory || '.', command);
    if (!isProgram(file)) continue;
    if (isAbsolute(file)) return { path: file };
    return {
      why: `which the PATH has only in a directory relative to the current one (${directory || '.'})`,
    };
  }
  return { why: 'which is not installed, or not on the PATH' };
}

function isProgram(file: string): boolean {
  try {
    if (statSync(file).isDirectory()) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether exec would run this file. Go, whose rule `findProgram` follows, also takes anything else that is no directory. */
export function isExecutableFile(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
