/**
 * `flag.StringVar(&address, "metrics-addr", ":8080", …)` of Go's flag package and of pflag. A flag of one cobra command (`cmd.Flags()`) is
 * unknown to the others, so it is left out.
 */
const ADDRESS_FLAG =
  /(\.Flags\(\))?\s*\.String(?:Var)?P?\(\s*(?:&?[\w.]+\s*,\s*)?"([\w.-]+)"\s*,\s*(?:"\w?"\s*,\s*)?"([^"\s]*:\d{2,5})"\s*,/g;

/** The flags of a source file whose default is an address with a port, with it: `--metrics-addr=:8080`. */
export function addressFlags(text: string): string[] {
  return [...text.matchAll(ADDRESS_FLAG)]
    .filter(([, ofOneCommand]) => ofOneCommand === undefined)
    .map(([, , flag, address]) => `--${flag}=${address}`);
}
