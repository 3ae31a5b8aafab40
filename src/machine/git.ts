import { runTool, type ToolOptions, type ToolResult } from './tool.ts';

type Setting = [name: string, value: string];

/** A checkout can name programs that git runs: a file system monitor, hooks, and a program that verifies signatures. */
const RUNS_NOTHING: Setting[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['log.showSignature', 'false'],
];

/**
 * Runs git in a checkout without running anything that the checkout names, without writing to it and without connecting to another machine.
 */
export function runGit(args: string[], options: ToolOptions): Promise<ToolResult> {
  return runWith([], args, options);
}

/** Like `runGit`, for commands that compare or write the content of files: filters, such as git-lfs, are programs, too. */
export async function runGitWithoutFilters(args: string[], options: ToolOptions): Promise<ToolResult> {
  const { stdout } = await runGit(['config', '--name-only', '-z', '--get-regexp', '^filter\\.'], options);
  const drivers = stdout.split('\0').map((name) => name.slice(0, Math.max(0, name.lastIndexOf('.'))));
  const named = [...new Set(drivers)].filter((driver) => driver !== '');
  const off = named.flatMap((driver): Setting[] => [
    [`${driver}.clean`, ''],
    [`${driver}.smudge`, ''],
    [`${driver}.process`, ''],
    [`${driver}.required`, 'false'],
  ]);
  return await runWith(off, args, options);
}

/**
 * Passes the settings as variables, too, because `-c` ends a name at its first `=`, which the name of a filter can contain. Git before 2.31
 * supports only `-c`.
 */
function runWith(more: Setting[], args: string[], options: ToolOptions): Promise<ToolResult> {
  const settings = [...RUNS_NOTHING, ...more];
  const inherited = options.env ?? process.env;
  // Settings that the user passes in variables, such as safe.directory, are kept.
  const first = Number(inherited.GIT_CONFIG_COUNT) || 0;
  const variables = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, name],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ]);
  const env = {
    ...inherited,
    ...Object.fromEntries(variables),
    GIT_CONFIG_COUNT: String(first + settings.length),
    // In a partial clone, git would fetch missing objects, through a program that the checkout names.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: '',
  };
  const words = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return runTool(['git', '--no-optional-locks', ...words, ...args], { ...options, env });
}
