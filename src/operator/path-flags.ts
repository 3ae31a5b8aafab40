/** The flags in the sources whose defaults are absolute paths. */
export interface PathFlags {
  defaults: PathFlag[];
  /** The absolute path in each constant. */
  constants: Map<string, string>;
}

interface PathFlag {
  /** The flag's name, without dashes. */
  flag: string;
  /** An absolute path, or the name of a constant. */
  value: string;
  /** The directory of the package that defines it. */
  directory: string;
}

const DEFAULT = '(?:"(/[^"\\n]*)"|(?:\\w+\\.)*(\\w+))';
/** Matches `StringVar(&dir, "cert-dir", "/certs", …)` of Go's flag package, and of pflag, also with a short name. */
const CALL = new RegExp(
  `\\.String(?:Var)?P?\\(\\s*(?:&?[\\w.]+\\s*,\\s*)?"([\\w.-]+)"\\s*,\\s*(?:"\\w?"\\s*,\\s*)?${DEFAULT}\\s*,`,
  'g',
);
/**
 * Matches `StringFlag{Name: "cert-dir", Value: "/certs"}` of urfave/cli. The word `Flag` is required, because the variables of a container
 * have the same fields.
 */
const FIELDS = new RegExp(
  `Flag\\s*\\{[^{}]{0,300}?\\bName:\\s*"([\\w.-]+)"[^{}]{0,300}?\\bValue:\\s*${DEFAULT}`,
  'g',
);
const CONSTANT = /\b(\w+)(?:\s+string)?\s*=\s*"(\/[^"\n]+)"/g;

/** Adds what one source file defines. `directory`: the file's directory. */
export function collectPathFlags(text: string, directory: string, { defaults, constants }: PathFlags): void {
  for (const pattern of [CALL, FIELDS])
    for (const [, flag = '', path, constant = ''] of text.matchAll(pattern))
      defaults.push({ flag, value: path ?? constant, directory });
  for (const [, name, path] of text.matchAll(CONSTANT)) constants.set(name!, path!);
}

/** For each default at or below this path, the flags that have it, each with the directories of the packages that define it. */
export function flagsBelow(
  { defaults, constants }: PathFlags,
  wanted: string,
): Map<string, Map<string, Set<string>>> {
  return byDefault({ defaults, constants }, (path) => isAtOrBelow(path, wanted));
}

const CERTIFICATE_DIRECTORY = /cert(?:ificate)?s?-?dir(?:ectory)?$/i;

/** Like flagsBelow, for flags that are named after a directory of certificates, whatever their defaults. */
export function certificateFlags({ defaults, constants }: PathFlags): ReturnType<typeof flagsBelow> {
  const named = defaults.filter(({ flag }) => CERTIFICATE_DIRECTORY.test(flag));
  return byDefault({ defaults: named, constants }, () => true);
}

function byDefault(
  { defaults, constants }: PathFlags,
  isWanted: (path: string) => boolean,
): Map<string, Map<string, Set<string>>> {
  const found = new Map<string, Map<string, Set<string>>>();
  for (const { flag, value, directory } of defaults) {
    const written = value.startsWith('/') ? value : constants.get(value);
    if (written === undefined) continue;
    const path = withoutTrailingSlashes(written);
    if (!isWanted(path)) continue;
    const flags = found.get(path) ?? new Map<string, Set<string>>();
    found.set(path, flags.set(flag, (flags.get(flag) ?? new Set()).add(directory)));
  }
  return found;
}

/** A loop, because an expression such as `/\/+$/` takes quadratic time where other characters follow the slashes. */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/** Compares whole segments: /certs-old is not below /certs. */
export function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
