import { resolve } from 'node:path';
import { isProgram } from '../controller/spawn-waiting.ts';
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
