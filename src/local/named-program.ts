import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import type { ControllerPlan } from '../controller/supervisor.ts';
import { AGAIN, DevloopError } from '../errors.ts';

/**
 * Throws 'controller.no-toolchain' where the program of a command of the user's is not there, so that a misspelt one changes nothing in
 * the cluster. What a build makes is not there yet.
 */
export async function requireProgram({
  build,
  run: [program = '', ...args],
  cwd,
  env,
}: Pick<ControllerPlan, 'build' | 'run' | 'cwd' | 'env'>): Promise<void> {
  const { PATH } = env;
  const isPath = program.includes('/');
  // Without a PATH, the system has one of its own.
  if (build !== undefined || (!isPath && PATH === undefined)) return;
  const directories = isPath ? [cwd] : PATH!.split(delimiter).map((directory) => resolve(cwd, directory));
  const found = await Promise.all(directories.map((directory) => isProgram(resolve(directory, program))));
  if (found.includes(true)) return;
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

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
