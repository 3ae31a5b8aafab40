/** What an expression stands for: a string, a number or a boolean. */
export type Value = string | number | boolean;

/** A flag that a package of the checkout defines. */
export interface DefinedFlag {
  /** The directory of the package that defines it. */
  directory: string;
  /** The only command of the program that has the flag; null if that command was not found, undefined if every command may have the flag. */
  command?: string | null | undefined;
}

/** A flag in the sources, with its default. */
export interface Flag extends DefinedFlag {
  /** The flag's name, without dashes. */
  flag: string;
  kind: 'string' | 'number' | 'boolean';
  /** The default; undefined if only the program knows it. */
  value: Value | undefined;
  /** Whether it is defined by a call, as in Go's flag package and in pflag, or by a literal struct, as in urfave/cli. */
  by: 'call' | 'struct';
}

/** A command of a program, such as `serve` in `shop serve --port=9443`. */
export interface ProgramCommand {
  /** The first word of its usage. */
  name: string;
  /** The directory of the package that defines it. */
  directory: string;
}

/** Whether the flag names a kubeconfig. */
export function isKubeconfigFlag({ by, flag, kind }: Flag): boolean {
  return by === 'call' && kind === 'string' && flag === 'kubeconfig';
}
