import { dirname } from 'node:path';
import { runTool } from '../../machine/tool.ts';
import { goEnvironment } from './build-command.ts';
import { type Embed, embeddedBelow } from './embeds.ts';

/** The files that a Go program is built from, without the module cache and the standard library. */
export interface SourceSet {
  /** Directories of packages and modules, without their subdirectories. */
  directories: Set<string>;
  /** Files that `//go:embed` names in the directory of a package. */
  embedded: Set<string>;
  /** Directories that contain only embedded files, or can contain some. */
  embeddedDirectories: Set<string>;
  /** What the packages embed: a new directory that one of these patterns covers belongs to the program, too. */
  embeds: Embed[];
  /** All packages of the program, including those of the module cache and the standard library: import path -> directory. */
  packages: Map<string, string>;
}

interface ListedPackage {
  Dir?: string;
  ImportPath: string;
  Standard?: boolean;
  Module?: ListedModule;
  EmbedFiles?: string[];
  EmbedPatterns?: string[];
  Imports?: string[];
}

interface ListedModule {
  Path: string;
  Main?: boolean;
  Dir?: string;
  GoMod?: string;
  Replace?: { Version?: string; Dir?: string; GoMod?: string };
}

const FIELDS = 'Dir,ImportPath,Standard,Module,EmbedFiles,EmbedPatterns,Imports';

/** What the go tool builds a package from; undefined when it cannot tell (a broken go.mod, or no such package at the moment). */
export async function listSources(
  cwd: string,
  { goPackage, flags = [] }: { goPackage: string; flags?: string[] },
  signal: AbortSignal,
): Promise<SourceSet | undefined> {
  const list = ['go', 'list', '-buildvcs=false', '-e', '-deps', `-json=${FIELDS}`, ...flags, goPackage];
  const [listed, workspace] = await Promise.all([
    runTool(list, { cwd, env: goEnvironment(), signal }),
    runTool(['go', 'env', 'GOWORK'], { cwd, signal }),
  ]);
  if (listed.code !== 0) return undefined;
  const sources = localSources(listed.stdout);
  if (sources.directories.size === 0) return undefined;
  for (const directory of new Set(sources.embeds.map(([one]) => one)))
    for (const below of await embeddedBelow(directory, sources.embeds)) addEmbedded(sources, below);
  const file = workspace.stdout.trim();
  if (file !== '' && file !== 'off') sources.directories.add(dirname(file));
  return sources;
}

/** Parses the JSON objects that `go list -deps -json` prints. */
export function localSources(output: string): SourceSet {
  const all = output
    .split(/^(?=\{$)/m)
    .filter((text) => text.trim() !== '')
    .map((text) => JSON.parse(text) as ListedPackage);
  const packages = all.filter((listed) => !listed.Standard && listed.Module && isLocal(listed.Module));
  const sources = noSources(all.map(({ ImportPath, Dir = '' }) => [ImportPath, Dir]));
  for (const listed of packages) addPackage(sources, listed);
  for (const directory of missingImports(packages)) sources.directories.add(directory);
  for (const directory of sources.directories) sources.embeddedDirectories.delete(directory);
  return sources;
}

/** Adds a directory whose files can be embedded; a package's own directory has further files. */
export function addEmbedded({ directories, embeddedDirectories }: SourceSet, directory: string): void {
  if (!directories.has(directory)) embeddedDirectories.add(directory);
}

/** A set to which directories and files are added. */
export function noSources(packages: [string, string][] = []): SourceSet {
  return {
    directories: new Set(),
    embedded: new Set(),
    embeddedDirectories: new Set(),
    embeds: [],
    packages: new Map(packages),
  };
}

/** Whether it is the main module, a module of a go.work, or replaced by a directory. Any other module is in the module cache. */
function isLocal(module: ListedModule): boolean {
  return module.Main === true || (module.Replace !== undefined && module.Replace.Version === undefined);
}

function addPackage(sources: SourceSet, listed: ListedPackage): void {
  const goMod = listed.Module?.Replace?.GoMod ?? listed.Module?.GoMod;
  if (goMod) sources.directories.add(dirname(goMod));
  if (!listed.Dir) return;
  sources.directories.add(listed.Dir);
  for (const pattern of listed.EmbedPatterns ?? []) sources.embeds.push([listed.Dir, pattern]);
  for (const name of listed.EmbedFiles ?? []) {
    const file = `${listed.Dir}/${name}`;
    sources.embedded.add(file);
    if (dirname(file) !== listed.Dir) sources.embeddedDirectories.add(dirname(file));
  }
}

/** Directories of local packages that are imported but do not exist yet. Their first file can fix the build. */
function missingImports(packages: ListedPackage[]): string[] {
  const known = new Set(packages.filter((listed) => listed.Dir).map((listed) => listed.ImportPath));
  const modules = packages.map((listed) => listed.Module!);
  return packages
    .flatMap((listed) => listed.Imports ?? [])
    .filter((path) => !known.has(path))
    .flatMap((path) => {
      const module = modules.find(({ Path }) => path.startsWith(`${Path}/`));
      const root = module?.Replace?.Dir ?? module?.Dir;
      return module && root ? [root + path.slice(module.Path.length)] : [];
    });
}
