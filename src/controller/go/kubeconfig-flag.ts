import { type GoProgram, linkedPackages } from './linked-packages.ts';

/** Reads KUBECONFIG, and defines the flag --kubeconfig for every program that links it. */
const READS_VARIABLE = 'sigs.k8s.io/controller-runtime/pkg/client/config';

/**
 * Whether a program learns its kubeconfig only from its own flag --kubeconfig, as servers without controller-runtime do: without the flag,
 * they look for the configuration that Pods have. `definers` are the directories of packages that define such a flag.
 */
export async function hasOnlyKubeconfigFlag(
  program: GoProgram,
  definers: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (definers.size === 0) return false;
  const packages = await linkedPackages(program, signal);
  return !packages.has(READS_VARIABLE) && [...packages.values()].some((place) => definers.has(place));
}
