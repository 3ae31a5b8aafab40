import { runTool, type ToolOptions, type ToolResult } from './tool.ts';

/** A checkout can name programs that git runs: a file system monitor, hooks, and a program that verifies signatures. */
const RUNS_NOTHING = ['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'log.showSignature=false'];

/** Runs git in a checkout without running anything that the checkout names, and without writing to it. */
export function runGit(args: string[], options: ToolOptions): Promise<ToolResult> {
  const settings = RUNS_NOTHING.flatMap((one) => ['-c', one]);
  return runTool(['git', '--no-optional-locks', ...settings, ...args], options);
}

/** As `runGit`, for commands that compare the content of files: filters (git-lfs is one) are programs, too. */
export async function runGitWithoutFilters(args: string[], options: ToolOptions): Promise<ToolResult> {
  const { stdout } = await runGit(['config', '--name-only', '-z', '--get-regexp', '^filter\\.'], options);
  const drivers = stdout.split('\0').map((name) => name.slice(0, Math.max(0, name.lastIndexOf('.'))));
  const named = [...new Set(drivers)].filter((driver) => driver !== '');
  const off = named.flatMap((driver) => [
    `${driver}.clean=`,
    `${driver}.process=`,
    `${driver}.required=false`,
  ]);
  return await runGit([...off.flatMap((one) => ['-c', one]), ...args], options);
}
