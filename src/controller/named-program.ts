import { resolve } from 'node:path';
import { AGAIN, DevloopError } from '../errors.ts';
import { isExecutableFile } from '../machine/find-program.ts';

/**
 * Throws 'controller.no-toolchain' if the program of the user's command does not exist, so that a misspelt name changes nothing in the
 * cluster. A program that is built first is not checked, because it might not exist yet.
 */
export async function requireProgram({
  build,
  run: [program = '', ...args],
  cwd,
  env,
}: {
  build?: string[] | undefined;
  run: string[];
  cwd: string;
  env: Record<string, string>;
}): Promise<void> {
  const { PATH } = env;
  const isPath = program.includes('/');
  // Without a PATH, the system uses a default.
  if (build !== undefined || (!isPath && PATH === undefined) || isProgram(program, cwd, PATH)) return;
  const message = isPath
    ? `The controller's program ${resolve(cwd, program)} does not exist, or is not executable.`
    : `The controller's program ${program} is not on the PATH.`;
  const isLine = args.length === 0 && /\s/.test(program);
  throw new DevloopError('controller.no-toolchain', message, {
    hint: isLine
      ? `Without quotes, it is a command with arguments: ${AGAIN} -- ${program}`
      : 'Check its name, and that it is built or installed.',
  });
}

/** Whether exec would find an executable file with this name. */
export function isProgram(name: string, cwd: string, path = '/usr/bin:/bin'): boolean {
  const places = name.includes('/') ? [name] : path.split(':').map((one) => `${one || '.'}/${name}`);
  return places.some((place) => isExecutableFile(resolve(cwd, place)));
}
