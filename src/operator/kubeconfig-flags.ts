import { type DefinedFlag, placeOf } from './cobra-commands.ts';

/** `StringVar(&file, "kubeconfig", …)` of Go's flag package and of pflag. */
const FLAG =
  /(?:\b(\w+(?:\s*\.\w+\(\))?)\s*)?\.String(?:Var)?P?\(\s*(?:&?[\w.]+\s*,\s*)?(?:"kubeconfig"|clientcmd\.RecommendedConfigPathFlag)/g;

/** The flags --kubeconfig of a source file in this directory. */
export function kubeconfigFlags(text: string, directory: string): DefinedFlag[] {
  return [...text.matchAll(FLAG)].map((match) => placeOf(match, text, directory));
}
