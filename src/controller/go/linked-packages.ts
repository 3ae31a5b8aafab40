import { runTool } from '../../machine/tool.ts';

/** A program: a main package, where it is built, and with which flags. */
export interface GoProgram {
  directory: string;
  goPackage: string;
  flags: string[];
}

/** All packages that a program consists of, its dependencies' too: import path -> directory. */
export type LinkedPackages = () => Promise<ReadonlyMap<string, string>>;

/** Asks the go tool when it is called for the first time, and only then: that takes about a second. */
export function linkedPackages(
  { directory, goPackage, flags }: GoProgram,
  signal: AbortSignal | undefined,
): LinkedPackages {
  const format = '{{.ImportPath}}{{"\\t"}}{{.Dir}}';
  const list = ['go', 'list', '-buildvcs=false', '-e', '-deps', '-f', format, ...flags, goPackage];
  const read = async (): Promise<ReadonlyMap<string, string>> => {
    const { stdout } = await runTool(list, { cwd: directory, signal });
    const packages = stdout.split('\n').map((line) => line.split('\t'));
    return new Map(packages.map(([path = '', place = '']) => [path, place]));
  };
  let listed: ReturnType<LinkedPackages> | undefined;
  return () => (listed ??= read());
}

/** Which of these flags a program defines; `definers` are the directories of the packages that define each of them. */
export async function linkedFlags(
  linked: LinkedPackages,
  definers: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<string[]> {
  if (definers.size === 0) return [];
  const places = new Set((await linked()).values());
  const isLinked = (directories: ReadonlySet<string>): boolean =>
    [...directories].some((one) => places.has(one));
  return [...definers].filter(([, directories]) => isLinked(directories)).map(([flag]) => flag);
}

/** Reads KUBECONFIG, and defines the flag --kubeconfig for every program that links it. */
const READS_VARIABLE = 'sigs.k8s.io/controller-runtime/pkg/client/config';

/**
 * Whether a program learns its kubeconfig only from its own flag --kubeconfig, as servers without controller-runtime do: without the flag,
 * they look for the configuration that Pods have. `definers` are the directories of packages that define such a flag.
 */
export async function hasOnlyKubeconfigFlag(
  linked: LinkedPackages,
  definers: ReadonlySet<string>,
): Promise<boolean> {
  if (definers.size === 0) return false;
  const packages = await linked();
  return !packages.has(READS_VARIABLE) && [...packages.values()].some((place) => definers.has(place));
}
