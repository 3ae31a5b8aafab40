import type { Progress } from '../../report/events.ts';
import type { BuildProgress, BuildTool } from '../language.ts';

const COMPILING = /^\s+Compiling (\S+ v\S+)/;
const DOWNLOADED = /^\s+Downloaded (\S+ v\S+)/;
/** What cargo prints about its own work, in front of and between the compiler's messages. */
const STATUS =
  /^\s+(?:Adding|Blocking|Checking|Compiling|Downloaded|Downloading|Finished|Fresh|Locking|Removing|Updating)\s/;

export const cargoTool: BuildTool = {
  builds: ([tool, ...words]) =>
    tool === 'cargo' && /^b(?:uild)?$/.test(words.find((word) => !/^[-+]/.test(word)) ?? ''),
  // The messages are read, and shown as they are.
  environment: () => ({ ...process.env, CARGO_TERM_COLOR: 'never' }),
  verbose: (command) => command,
  progress: createProgress,
  withoutProgress: (output) =>
    output
      .split('\n')
      .filter((line) => !STATUS.test(line))
      .join('\n'),
  advice: cargoAdvice,
};

function createProgress(): BuildProgress {
  let rest = '';
  let current: Progress | undefined;
  const done = { compiling: 0, downloading: 0 };
  const note = (step: 'compiling' | 'downloading', what: string | undefined): void => {
    if (what === undefined) return;
    done[step] += 1;
    current = { step, what, done: done[step] };
  };
  return {
    read(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        note('compiling', COMPILING.exec(line)?.[1]);
        note('downloading', DOWNLOADED.exec(line)?.[1]);
      }
    },
    expect() {},
    now: () => current,
  };
}

/** The command or advice that fixes what cargo or rustup complains about; undefined if none is known. */
export function cargoAdvice(output: string): string | undefined {
  // In the checkout, this also installs the targets and components that rust-toolchain.toml names.
  const [, own] = /run `(rustup [\w. -]+)` to install/.exec(output) ?? [];
  if (own !== undefined) return own;
  const [, toolchain] = /toolchain '([\w.-]+)' is not installed/.exec(output) ?? [];
  if (toolchain !== undefined) return `rustup toolchain install ${toolchain}`;
  const [, target] = /the `([\w.-]+)` target may not be installed/.exec(output) ?? [];
  if (target !== undefined) return `rustup target add ${target}`;
  const [, version] = /requires rustc (\d[\d.]*\d) or newer/.exec(output) ?? [];
  if (version !== undefined) return 'rustup update';
  if (/linker `\S+` not found/.test(output))
    return 'Install a C compiler and linker, such as the package gcc.';
  if (/no default toolchain|could not choose a version/.test(output)) return 'rustup default stable';
  return /lock file \S+ needs to be updated but --locked/.test(output)
    ? 'cargo update --workspace'
    : undefined;
}
