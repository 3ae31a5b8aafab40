import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export const BIN = join(import.meta.dirname, '../../../bin/devloop.js');

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The real program, as it was built, on the Node that runs the tests. */
export function runBin(
  args: string[],
  { nodeFlags = [] as string[], bin = BIN, cwd = process.cwd() } = {},
): Ended {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeFlags, bin, ...args], {
    env,
    cwd,
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}
