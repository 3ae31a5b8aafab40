import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { runGit } from '../../machine/git.ts';
import { isAtOrBelow } from '../paths.ts';
import { runScript } from './installed.ts';
import { libraryDirectories, type NodePackage } from './packages.ts';

const OUT = /^[^/\n]*"outDir"\s*:\s*"([^"]+)"/m;

/** Whether the package can be built: by its script, or by TypeScript's compiler alone. */
export function canBuild(own: NodePackage): boolean {
  return own.scripts.build !== undefined || outputOf(own) !== undefined;
}

/** The directory into which TypeScript's compiler writes, as tsconfig.json says. It can be committed, too. */
function outputOf({ directory }: NodePackage): string | undefined {
  const file = join(directory, 'tsconfig.json');
  const [, out] = (existsSync(file) && OUT.exec(readFileSync(file, 'utf8'))) || [];
  return out === undefined ? undefined : resolve(directory, out);
}

/** How the file is made; undefined if it is a source: it exists, git does not ignore it, and it is not where TypeScript is compiled to. */
export async function buildOf(
  { file, package: own }: { file?: string; package: NodePackage },
  root: string,
  signal: AbortSignal | undefined,
): Promise<string[] | undefined> {
  if (file === undefined) return undefined;
  const out = outputOf(own);
  const isCompiled = out !== undefined && isAtOrBelow(file, out);
  const build =
    own.scripts.build !== undefined
      ? runScript('build', own, root)
      : isCompiled
        ? compiler(own, root)
        : undefined;
  if (build === undefined && !existsSync(file)) throw notBuilt(file, own.directory);
  const isMade = isCompiled || !existsSync(file) || (await isIgnored(file, own.directory, signal));
  return isMade ? build : undefined;
}

/** TypeScript's compiler, where it is installed, or else where it would be. */
function compiler({ directory }: NodePackage, root: string): string[] {
  const places = libraryDirectories(directory, root).map((place) => join(place, '.bin/tsc'));
  return [places.find((place) => existsSync(place)) ?? places[0]!, '--project', directory];
}

async function isIgnored(file: string, cwd: string, signal: AbortSignal | undefined): Promise<boolean> {
  return (await runGit(['check-ignore', '--quiet', file], { cwd, signal })).code === 0;
}

function notBuilt(file: string, directory: string): DevloopError {
  return new DevloopError(
    'controller.no-main',
    `The operator is started with ${file}, which does not exist, and ${join(directory, 'package.json')} has no script \`build\` that could make it.`,
    { hint: 'devloop up --package FILE starts another file, and devloop up -- COMMAND runs any command.' },
  );
}
