const NEEDS_TIDY =
  /missing go\.sum entry|updates to go\.(mod|sum) needed|go mod tidy|no required module provides package/;

/** The command that fixes what the go tool complains about; undefined when it is not known. */
export function goAdvice(output: string): string | undefined {
  if (NEEDS_TIDY.test(output)) return 'go mod tidy';
  return /inconsistent vendoring/.test(output) ? 'go mod vendor' : undefined;
}
