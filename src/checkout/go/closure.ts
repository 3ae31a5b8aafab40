import { join } from 'node:path';
import type { Checkout } from '../files.ts';
import { markedPaths } from '../text-facts.ts';
import { isSource } from './checkout.ts';
import { isBuilt } from './constraints.ts';
import type { GoFiles } from './files.ts';
import { type GoModule, packageDirectory } from './go-mod.ts';
import { isAsked } from './program-facts.ts';
import type { GoSource } from './sources.ts';

/** What is read of one package. */
export interface ReadPackage {
  directory: string;
  imports: Set<string>;
  /** Its files; only the header of those that say nothing about a program. */
  sources: GoSource[];
  /** The paths of webhooks in its markers. */
  markers: string[];
}

export interface PackageReader {
  /** A package and all packages of local modules that it is built from, itself first. */
  closure(directory: string): ReadPackage[];
}

/**
 * Follows imports in the sources, without the go tool, which would load the modules of everything that it lists. Each package is read once,
 * however many programs are built from it. `paths`: those of webhooks.
 */
export function createPackageReader(
  checkout: Checkout,
  {
    files,
    modules,
    paths,
    tags,
  }: { files: GoFiles; modules: GoModule[]; paths: string[]; tags: ReadonlySet<string> },
): PackageReader {
  const known = new Map<string, ReadPackage>();
  const read = (directory: string): ReadPackage => {
    const one: ReadPackage = { directory, imports: new Set(), sources: [], markers: [] };
    for (const { name } of checkout.entries(directory)) {
      if (!isSource(name)) continue;
      const path = join(directory, name);
      const source = files.source(path, (text) => isAsked(text, paths));
      if (!isBuilt(name, source.file.constraint, tags)) continue;
      for (const { path: imported } of source.file.imports) one.imports.add(imported);
      one.sources.push(source);
      one.markers.push(...markedPaths(checkout.text(path)));
    }
    return one;
  };
  return {
    closure(directory) {
      const found = new Map<string, ReadPackage>();
      const queue = [directory];
      for (const place of queue) {
        if (found.has(place)) continue;
        const one = known.get(place) ?? read(place);
        known.set(place, one);
        found.set(place, one);
        queue.push(...[...one.imports].flatMap((path) => packageDirectory(path, modules) ?? []));
      }
      return [...found.values()];
    },
  };
}
