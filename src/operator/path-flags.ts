/** Flags whose defaults are absolute paths, as the sources define them. */
export interface PathFlags {
  /** Flag, without dashes -> its default: an absolute path, or the name of a constant. */
  defaults: Map<string, string>;
  /** Constant -> absolute path. */
  constants: Map<string, string>;
}

const DEFAULT = '(?:"(/[^"\\n]*)"|(?:\\w+\\.)*(\\w+))';
/** `StringVar(&dir, "cert-dir", "/certs", …)` of Go's flag package, and of pflag, also with a short name. */
const CALL = new RegExp(
  `\\.String(?:Var)?P?\\(\\s*(?:&?[\\w.]+\\s*,\\s*)?"([\\w.-]+)"\\s*,\\s*(?:"\\w?"\\s*,\\s*)?${DEFAULT}\\s*,`,
  'g',
);
/** `{Name: "cert-dir", Value: "/certs"}` of urfave/cli. */
const FIELDS = new RegExp(`\\bName:\\s*"([\\w.-]+)"[^{}]{0,300}?\\bValue:\\s*${DEFAULT}`, 'g');
const CONSTANT = /\b(\w+)(?:\s+string)?\s*=\s*"(\/[^"\n]+)"/g;

export function collectPathFlags(text: string, { defaults, constants }: PathFlags): void {
  for (const pattern of [CALL, FIELDS])
    for (const [, flag, path, constant] of text.matchAll(pattern)) defaults.set(flag!, (path ?? constant)!);
  for (const [, name, path] of text.matchAll(CONSTANT)) constants.set(name!, path!);
}

/** The flag that has this directory as its default; undefined where none or several have. */
export function flagFor({ defaults, constants }: PathFlags, directory: string): string | undefined {
  const flags = [...defaults].filter(([, value]) => {
    const path = value.startsWith('/') ? value : constants.get(value);
    return path !== undefined && path.replace(/\/+$/, '') === directory;
  });
  return flags.length === 1 ? flags[0]![0] : undefined;
}
