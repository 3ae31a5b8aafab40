/**
 * Which variables of the environment a package of sources names. This is a proof, not a guess: it finds no variable whose name the sources
 * do not contain, in one piece or in the pieces from which a library joins it.
 */

/** The extensions of files that are programs, not recipes or scripts that call other programs. */
export const PROGRAM_SOURCE = /\.(?:go|rs|py|java|kt|scala|[cm]?[jt]sx?|cs|rb|php|exs?|cc?|cpp)$/;

/** The texts of the files of one package. */
export type PackageTexts = string[];

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
/** A whole literal, unless it is the name of a variable that the program sets for others. A `%s` at its end stands for the rest. */
const LITERAL = new RegExp(`(?<!\\b(?:Unset|Set|set)_?[eE]nv\\(\\s*)(["'\`])(${NAME})(?:%[sv])?\\1`, 'g');
/** Matches `env:"NAME,required"` in the tag of a field, and `env:"A,B"`. */
const TAG = /\benv\w*:\s*\\?"([\w, =]+)\\?"/gi;
/** Matches `env:NAME` in the tag of go-arg. */
const PART_OF_TAG = new RegExp(`[",]env:(${NAME})`, 'g');
/** Matches `process.env.NAME`, `import.meta.env.NAME` and `ENV.NAME`. */
const MEMBER = new RegExp(`\\benv\\??\\.(${NAME})`, 'gi');
/** Matches `const { NAME, OTHER: other = 'x' } = process.env`. */
const UNPACKED = /\{([^{}]{1,2000})\}\s*=\s*(?:process|Deno|Bun|import\.meta)\.env\b/g;
/** Matches `${NAME}` and `${NAME:default}` in a literal of Java. */
const PLACEHOLDER = new RegExp(`\\$\\{(${NAME})[:}]`, 'g');

/** These libraries make the names of variables from the names of fields and settings. */
const BY_FIELD =
  /\benvconfig\.(?:Must)?Process\b|\bAutomaticEnv\b|\bSetEnvPrefix\b|\bUseFieldNameByDefault\b|\bBaseSettings\b|\benvy::|#\[(?:clap|arg)\([^)\n]{0,500}\benv\b(?!\s*=)/;

/** The names among `wanted` that one of these packages contains. */
export function namedVariables(packages: PackageTexts[], wanted: Iterable<string>): Set<string> {
  const open = new Set(wanted);
  const named = new Set<string>();
  const take = (isNamed: (name: string) => boolean): void => {
    for (const name of open) {
      if (!isNamed(name)) continue;
      named.add(name);
      open.delete(name);
    }
  };
  const clues = cluesTo(open);
  for (const texts of packages) {
    if (!texts.some((text) => clues.some((clue) => text.includes(clue)))) continue;
    const words = wordsIn(texts);
    take((name) => words.has(name) || isJoined(name, words));
  }
  if (open.size === 0 || !packages.flat().some((text) => BY_FIELD.test(text))) return named;
  const made = madeFrom(packages.flat());
  take((name) => isMade(name, made));
  return named;
}

/** What a package contains if it names one of the variables, unless a library makes the names from fields: the parts in front of the first `_`. */
export function cluesTo(names: ReadonlySet<string>): string[] {
  return [...new Set([...names].map((name) => name.split('_')[0]!))];
}

/** All names in a package that can be, or begin or end, the name of a variable. */
function wordsIn(texts: PackageTexts): Set<string> {
  return new Set(texts.flatMap(wordsOf));
}

function wordsOf(text: string): string[] {
  const all = (pattern: RegExp, group = 1): string[] =>
    [...text.matchAll(pattern)].map((found) => found[group]!);
  return [
    ...all(LITERAL, 2),
    ...all(TAG).flatMap((list) => list.split(/[, ]+/)),
    ...[PART_OF_TAG, MEMBER, PLACEHOLDER].flatMap((pattern) => all(pattern)),
    ...all(UNPACKED).flatMap((list) => list.split(',').map((one) => one.split(/[:=]/)[0]!.trim())),
  ];
}

/**
 * Whether a package joins the name: from a prefix that ends in `_` and something that only the program knows (`"RELATED_IMAGE_" + name`),
 * or from two literals: `"SHOP" + "_MODE"`, or as OpenTelemetry's packages do (`"OTEL_EXPORTER_OTLP"`, `"ENDPOINT"`).
 */
function isJoined(name: string, words: ReadonlySet<string>): boolean {
  return underscoresIn(name).some(
    (at) =>
      words.has(name.slice(0, at + 1)) ||
      (words.has(name.slice(0, at)) && (words.has(name.slice(at)) || words.has(name.slice(at + 1)))),
  );
}

function underscoresIn(name: string): number[] {
  return [...name].flatMap((character, at) => (character === '_' && at > 0 ? [at] : []));
}

/** What a library makes names from, without case and punctuation. */
interface Parts {
  fields: Set<string>;
  settings: Set<string>;
  prefixes: Set<string>;
}

/** Matches the name and the type of a field of a struct or class. */
const FIELD =
  /^[ \t]*(?:(?:pub|public|private|final|val|var)[ \t]+)*([A-Za-z_]\w*)[ \t]*(?::|[ \t][\w.*[\]]+[ \t]*(?:`|$))/gm;
/** Matches a setting such as `"database.url"`. */
const SETTING = /["']([A-Za-z][\w.-]*)["']/g;
/** Matches `Process("shop", …)`, `SetEnvPrefix("shop")`, `const prefix = "shop"` and `env_prefix="SHOP_"`. */
const PREFIX =
  /\b(?:(?:Must)?Process|SetEnvPrefix|\w*prefix)(?:\s+string)?\s*(?:\(|:?=|:)\s*["'`]([\w.-]+)["'`]/gi;

function madeFrom(texts: string[]): Parts {
  const all = (pattern: RegExp): Set<string> =>
    new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => bare(name!))));
  return { fields: all(FIELD), settings: all(SETTING), prefixes: all(PREFIX) };
}

/** SHOP_DATABASE_URL is made from the optional prefix `shop` and the setting `database.url`, or the field `DatabaseURL`, or from a field in another one. */
function isMade(name: string, { fields, settings, prefixes }: Parts): boolean {
  const isOne = (rest: string): boolean => fields.has(bare(rest)) || settings.has(bare(rest));
  const isNested = (rest: string): boolean =>
    underscoresIn(rest).some((at) => fields.has(bare(rest.slice(0, at))) && fields.has(bare(rest.slice(at))));
  const rests = underscoresIn(name)
    .filter((at) => prefixes.has(bare(name.slice(0, at))))
    .map((at) => name.slice(at + 1));
  return [name, ...rests].some((rest) => isOne(rest) || isNested(rest));
}

function bare(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
}
