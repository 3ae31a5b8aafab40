import type { GoModule } from './go-mod.ts';
import { registersWithManager } from './operator-facts.ts';
import type { Expression } from './reader/nodes.ts';
import { type GoSource, goSources, lastName } from './sources.ts';
import { textsOf } from './texts.ts';

/** What a package says about the program that it is part of. */
export interface PackageFacts {
  /** Which of the wanted paths the sources contain. */
  paths: Set<string>;
  /** Whether the sources register webhooks with controller-runtime. */
  registersWebhooks: boolean;
  /** Whether the sources read the name under which the program was started. */
  readsOwnName: boolean;
}

/** The facts about each of these packages, by directory. `paths` are matched as whole words. */
export function packageFacts(
  packages: ReadonlyMap<string, { sources: GoSource[]; markers: string[] }>,
  { paths, modules }: { paths: string[]; modules: GoModule[] },
): Map<string, PackageFacts> {
  const all = goSources(
    [...packages.values()].flatMap(({ sources }) => sources),
    modules,
  );
  const wanted = pathPattern(paths);
  return new Map(
    [...packages].map(([directory, { sources, markers }]) => {
      const texts = wanted ? [...markers, ...sources.flatMap((source) => textsOf(source, all))] : [];
      const facts: PackageFacts = {
        paths: new Set(texts.flatMap((text) => text.match(wanted!) ?? [])),
        registersWebhooks: sources.some(registersWithManager),
        readsOwnName: sources.some(readsOwnName),
      };
      return [directory, facts];
    }),
  );
}

const LITERAL = /["`]([^"`\s]{3,})(?=["`])/g;
const ASKED = ['WebhookManagedBy', 'GetWebhookServer', 'Args'];

/** Whether a file can say something about a program: reading the others would take long. A path can be composed from pieces. */
export function isAsked(text: string, paths: string[]): boolean {
  const isPiece = ([, piece = '']: RegExpExecArray): boolean => paths.some((path) => path.includes(piece));
  return (
    ASKED.some((name) => text.includes(name)) ||
    paths.some((path) => text.includes(path)) ||
    [...text.matchAll(LITERAL)].some(isPiece)
  );
}

/** One executable can act as several programs, depending on the link by which the image starts it: `filepath.Base(os.Args[0])`. */
function readsOwnName({ file }: GoSource): boolean {
  const { imports, calls, assignments } = file;
  const os = imports.find(({ path }) => path === 'os')?.alias ?? 'os';
  const isWord = (one: Expression | undefined): boolean =>
    one?.kind === 'selector' && one.name === 'Args' && lastName(one.of) === os && one.index === '0';
  return calls.some(({ callee, values: [value], within }) => {
    if (lastName(callee) !== 'Base') return false;
    const set = assignments.filter(
      (one) => lastName(one.target) === lastName(value) && [0, within].includes(one.within),
    );
    return isWord(value) || (value?.kind === 'name' && set.some((one) => isWord(one.value)));
  });
}

/** The pattern does not match `/validate-a` in `/validate-abc` or in `x/validate-a`. */
function pathPattern(paths: string[]): RegExp | undefined {
  if (paths.length === 0) return undefined;
  const escaped = paths.map((path) => path.replaceAll(/[\^$.*+?()[\]{}|\\]/g, '\\$&'));
  return new RegExp(`(?<![\\w/.-])(?:${escaped.join('|')})(?![\\w/.-])`, 'g');
}
