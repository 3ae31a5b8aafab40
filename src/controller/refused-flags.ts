/** The error messages of pflag, Go's flag package, urfave/cli and kingpin. */
const REFUSED = /(?:unknown (?:long )?flag:?|flag provided but not defined:) +['"`]?-{0,2}([\w.-]+)/;

/** The first of these arguments whose flag a program does not know, according to the end of its output. */
export function refusedArgument(args: string[], lines: string[]): string | undefined {
  const refused = lines.flatMap((line) => REFUSED.exec(line)?.[1] ?? []);
  return args.find((argument) => refused.includes(flagOf(argument)));
}

/** The arguments without those that set one of these flags. */
export function withoutFlags(args: string[], flags: ReadonlySet<string>): string[] {
  return args.filter((argument) => !flags.has(flagOf(argument)));
}

/** The name of a flag in one argument with its value, such as `--leader-elect=false`; empty for any other argument. */
export function flagOf(argument: string): string {
  return /^--?([^-=][^=]*)/.exec(argument)?.[1] ?? '';
}
