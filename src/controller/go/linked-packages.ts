import { runTool } from '../../machine/tool.ts';

/** A program: a main package, where it is built, and with which flags. */
export interface GoProgram {
  directory: string;
  goPackage: string;
  flags: string[];
}

/** All packages that a program consists of, its dependencies' too: import path -> directory. */
export async function linkedPackages(
  { directory, goPackage, flags }: GoProgram,
  signal: AbortSignal | undefined,
): Promise<Map<string, string>> {
  const format = '{{.ImportPath}}{{"\\t"}}{{.Dir}}';
  const list = ['go', 'list', '-buildvcs=false', '-e', '-deps', '-f', format, ...flags, goPackage];
  const { stdout } = await runTool(list, { cwd: directory, signal });
  const packages = stdout.split('\n').map((line) => line.split('\t'));
  return new Map(packages.map(([path = '', place = '']) => [path, place]));
}

/** Which of these flags a program defines; `definers` are the directories of the packages that define each of them. */
export async function linkedFlags(
  program: GoProgram,
  definers: ReadonlyMap<string, ReadonlySet<string>>,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  if (definers.size === 0) return [];
  const linked = new Set((await linkedPackages(program, signal)).values());
  const isLinked = (directories: ReadonlySet<string>): boolean =>
    [...directories].some((one) => linked.has(one));
  return [...definers].filter(([, directories]) => isLinked(directories)).map(([flag]) => flag);
}
