import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/** What others wrote in dist/. */
export interface Packages {
  /** The directories of the packages: `node_modules/yaml`. */
  installed: string[];
  /** What files of these packages contain from others, because their authors bundle, too: `content-type@1.0.5`. */
  within: string[];
}

/** The packages of which something is in these bundles, or that one of these files comes from. */
export function packagesIn(root: string, metafiles: Metafile[], files: string[]): Packages {
  const inputs = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap((output) =>
      Object.entries(output.inputs).flatMap(([input, { bytesInOutput }]) =>
        bytesInOutput > 0 ? [input] : [],
      ),
    ),
  );
  // Stand-ins of the build are in a namespace, as in `builtin:…`.
  const theirs = [...inputs, ...files].filter((file) => file.startsWith('node_modules/'));
  return {
    installed: unique(
      theirs.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? file),
    ),
    within: unique(
      theirs.filter((file) => /\.[cm]?js$/.test(file)).flatMap((file) => within(join(root, file))),
    ),
  };
}

/** Rolldown, with which they are bundled, keeps the paths of the modules. */
function within(file: string): string[] {
  const paths = readFileSync(file, 'utf8').matchAll(/^\/\/#region \S*?node_modules\/(?:\.pnpm\/)?(\S+?)\//gm);
  return [...paths].map(([, name]) => name!);
}

const unique = (all: string[]): string[] => [...new Set(all)].sort();
