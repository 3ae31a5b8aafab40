import { runTool } from '../../machine/tool.ts';

/** Reads KUBECONFIG, and defines the flag --kubeconfig for every program that links it. */
const READS_VARIABLE = 'sigs.k8s.io/controller-runtime/pkg/client/config';

/**
 * Whether a program learns its kubeconfig only from its own flag --kubeconfig, as servers without controller-runtime do: without the flag,
 * they look for the configuration that Pods have. `definers` are the directories of packages that define such a flag.
 */
export async function hasOnlyKubeconfigFlag(
  { directory, goPackage, flags }: { directory: string; goPackage: string; flags: string[] },
  definers: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (definers.size === 0) return false;
  const format = '{{.ImportPath}}{{"\\t"}}{{.Dir}}';
  const list = ['go', 'list', '-buildvcs=false', '-e', '-deps', '-f', format, ...flags, goPackage];
  const { stdout } = await runTool(list, { cwd: directory, signal });
  const packages = stdout.split('\n').map((line) => line.split('\t'));
  if (packages.some(([path]) => path === READS_VARIABLE)) return false;
  return packages.some(([, place]) => place !== undefined && definers.has(place));
}
