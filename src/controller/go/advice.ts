/** The command that settles what the go tool complains about, where it is known. */
export function goAdvice(output: string): string | undefined {
  if (
    /missing go\.sum entry|updates to go\.(mod|sum) needed|go mod tidy|no required module provides package/.test(
      output,
    )
  ) {
    return 'go mod tidy';
  }
  if (/inconsistent vendoring/.test(output)) return 'go mod vendor';
  return undefined;
}
