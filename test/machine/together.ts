import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const E2E = join(import.meta.dirname, '../e2e');
const TOGETHER = 'test/e2e/together/*.test.ts';

/**
 * Files of test/e2e/together import others that share a cluster, so that a whole run starts fewer clusters. If one of those files is run by
 * its name, the files of test/e2e/together are left out. Returns what vitest has to leave out.
 */
export function filesToLeaveOut(args: string[]): string[] {
  const shared = globSync(join(E2E, 'together/*.test.ts')).flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/^import '\.\.\/(.*)';$/gm),
  ]);
  const names = shared.map(([, name = '']) => name);
  const isNamed = names.some((name) => args.some((arg) => isFor(stem(name), arg)));
  return isNamed ? [TOGETHER] : names.map((name) => `test/e2e/${name}`);
}

function stem(file: string): string {
  return basename(file).split('.', 1)[0]!;
}

/** vitest also accepts a part of a path. */
function isFor(name: string, arg: string): boolean {
  return arg.includes(name) || (arg !== '' && name.startsWith(basename(arg)));
}
