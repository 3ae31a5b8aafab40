import { runTool } from '../../machine/tool.ts';
import type { Progress } from '../../report/events.ts';
import type { BuildProgress } from '../language.ts';

const DOWNLOADING = /^go: downloading (\S+) (\S+)$/;
/** `-v` prints the import path of each package that it compiles; a compiler's messages contain spaces. */
const PACKAGE = /^[\w.~+-]+(?:\/[\w.~+-]+)*$/;

export function createBuildProgress(): BuildProgress {
  let rest = '';
  const compiled = new Set<string>();
  let downloaded = 0;
  let expected: string[] | undefined;
  let current: Progress | undefined;
  const readLine = (line: string): void => {
    const [, module, version] = DOWNLOADING.exec(line) ?? [];
    if (module !== undefined) {
      downloaded += 1;
      current = { step: 'downloading', what: `${module} ${version}`, done: downloaded };
    } else if (PACKAGE.test(line)) {
      compiled.add(line);
      current = { step: 'compiling', what: line, done: compiled.size };
    }
  };
  return {
    read(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) readLine(line);
    },
    expect(packages) {
      expected = packages;
    },
    now() {
      if (current?.step !== 'compiling' || expected === undefined) return current;
      // The program's own package needs all others, so it comes last, and linking usually takes longer than compiling it.
      const step = current.what === expected.at(-1) ? 'linking' : 'compiling';
      return { ...current, step, total: new Set([...compiled, ...expected]).size };
    },
  };
}

/** Adds `-v` to a build command of the go tool. Any other command stays as it is. */
export function verbose(command: string[]): string[] {
  return isGoBuild(command) ? command.toSpliced(2, 0, '-v') : command;
}

/** The compiler's messages, without the lines that `-v` adds. */
export function withoutProgress(output: string): string {
  const lines = output.split('\n').filter((line) => line === '' || !PACKAGE.test(line));
  return lines.filter((line) => !DOWNLOADING.test(line)).join('\n');
}

/**
 * The import paths of the packages that the go tool has to compile, judging by its cache, each after all that it needs; undefined if that
 * is not known.
 */
export async function packagesToCompile(
  command: string[],
  cwd: string,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  if (!isGoBuild(command)) return undefined;
  const output = command.indexOf('-o');
  const args = command
    .slice(2)
    .filter((_, index) => output < 0 || (index + 2 !== output && index + 2 !== output + 1));
  const list = ['go', 'list', '-e', '-deps', '-f', '{{if .Stale}}{{.ImportPath}}{{end}}', ...args];
  const { code, stdout } = await runTool(list, { cwd, signal });
  return code === 0 ? stdout.split('\n').filter(Boolean) : undefined;
}

export function isGoBuild([tool, subcommand]: string[]): boolean {
  return tool === 'go' && subcommand === 'build';
}
