import { join } from 'node:path';

/**
 * Where a program looks for its key pair that finds it from its own file (`os.Executable()`): in the image, the mount point is beside the
 * program, and here a directory of the same name is beside the one that devloop builds. `named`: what the sources look for there.
 */
export function besideProgram(
  mountPoints: string[],
  named: ReadonlySet<string>,
  directoryOfProgram: string,
): string[] {
  const found = [...named].flatMap((path) => {
    const parts = path.split('/').filter((part) => part !== '.');
    const heads = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'));
    return heads.find((head) => mountPoints.some((one) => one.endsWith(`/${head}`))) ?? [];
  });
  return [...new Set(found)]
    .filter((head) => !head.startsWith('..'))
    .map((head) => join(directoryOfProgram, head));
}
