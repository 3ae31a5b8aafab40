import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import { type GoModule, isIn, isSource } from './checkout.ts';
import { isBuilt } from './constraints.ts';
import { readSourceFile } from './source-file.ts';

/** What devloop finds in the sources of one package. */
export interface PackageFacts {
  directory: string;
  imports: Set<string>;
  /** Which of the wanted paths the sources contain. */
  paths: Set<string>;
  /** Whether the sources register webhooks with controller-runtime. */
  registersWebhooks: boolean;
  /** Whether the sources read the name under which the program was started. */
  readsOwnName: boolean;
}

export interface PackageReader {
  /** A package and all packages of local modules that it is built from, itself first. */
  closure(directory: string): Promise<PackageFacts[]>;
}

const REGISTERS = /NewWebhookManagedBy\(|WebhookManagedBy\(|GetWebhookServer\(\)/;
/** One executable can act as several programs, depending on the link by which the image starts it. */
const READS_OWN_NAME = /\bBase\(\s*os\.Args\[0\]\s*\)/;
const AT_ONCE = 32;

/**
 * Follows imports in the sources, without the go tool, which would load the modules of everything that it lists. Each package is read once,
 * however many programs are built from it. `paths` are matched as whole words.
 */
export function createPackageReader(
  modules: GoModule[],
  paths: string[],
  tags: ReadonlySet<string>,
): PackageReader {
  const known = new Map<string, Promise<PackageFacts>>();
  const wanted = pathPattern(paths);
  const read = (directory: string): Promise<PackageFacts> => {
    const reading = known.get(directory) ?? readPackage(directory, wanted, tags);
    known.set(directory, reading);
    return reading;
  };
  return {
    async closure(directory) {
      const found = new Map<string, PackageFacts>();
      let next = [directory];
      while (next.length > 0) {
        const level = next.splice(0, AT_ONCE).filter((one) => !found.has(one));
        const facts = await Promise.all(level.map(read));
        for (const one of facts) found.set(one.directory, one);
        const imported = facts.flatMap(({ imports }) => [...imports]);
        next = [...next, ...imported.flatMap((path) => directoryOf(path, modules) ?? [])];
        next = [...new Set(next)].filter((one) => !found.has(one));
      }
      return [...found.values()];
    },
  };
}

async function readPackage(
  directory: string,
  wanted: RegExp | undefined,
  tags: ReadonlySet<string>,
): Promise<PackageFacts> {
  const none = { registersWebhooks: false, readsOwnName: false };
  const facts: PackageFacts = { directory, imports: new Set(), paths: new Set(), ...none };
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter(isSource)) {
    const text = await readTextFile(join(directory, name));
    const { imports, constraint } = readSourceFile(text);
    if (!isBuilt(name, constraint, tags)) continue;
    for (const path of imports) facts.imports.add(path);
    facts.registersWebhooks ||= REGISTERS.test(text);
    facts.readsOwnName ||= READS_OWN_NAME.test(text);
    if (wanted) for (const [path] of text.matchAll(wanted)) facts.paths.add(path);
  }
  return facts;
}

/** The pattern does not match `/validate-a` in `/validate-abc` or in `x/validate-a`. */
function pathPattern(paths: string[]): RegExp | undefined {
  if (paths.length === 0) return undefined;
  const escaped = paths.map((path) => path.replaceAll(/[\^$.*+?()[\]{}|\\]/g, '\\$&'));
  return new RegExp(`(?<![\\w/.-])(?:${escaped.join('|')})(?![\\w/.-])`, 'g');
}

/** The directory of a package; undefined if the package belongs to no local module. */
function directoryOf(path: string, modules: GoModule[]): string | undefined {
  const module = modules
    .filter((one) => isIn(path, one.path))
    .sort((a, b) => b.path.length - a.path.length)[0];
  return module && join(module.directory, path.slice(module.path.length));
}
