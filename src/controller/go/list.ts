/** What decides about a Go program, as far as it lies in this checkout (or in one that a `replace` points to). */
export interface SourceSet {
  /** Each is watched without what is below it. */
  directories: Set<string>;
  /** Files that `//go:embed` takes from a package's own directory. */
  embedded: Set<string>;
  /** Directories that hold nothing but embedded files. */
  embeddedDirectories: Set<string>;
}

interface ListedPackage {
  Dir?: string;
  ImportPath: string;
  Standard?: boolean;
  Module?: ListedModule;
  EmbedFiles?: string[];
  Imports?: string[];
}

interface ListedModule {
  Path: string;
  Main?: boolean;
  Dir?: string;
  GoMod?: string;
  Replace?: { Version?: string; Dir?: string; GoMod?: string };
}

export const LISTED_FIELDS = 'Dir,ImportPath,Standard,Module,EmbedFiles,Imports';

/** Reads the stream of JSON objects of `go list -deps -json`. */
export function localSources(output: string): SourceSet {
  const packages = output
    .split(/^(?=\{$)/m)
    .filter((text) => text.trim() !== '')
    .map((text) => JSON.parse(text) as ListedPackage)
    .filter((listed) => !listed.Standard && listed.Module && isLocal(listed.Module));
  const sources: SourceSet = { directories: new Set(), embedded: new Set(), embeddedDirectories: new Set() };
  for (const listed of packages) addPackage(sources, listed);
  for (const directory of missingImports(packages)) sources.directories.add(directory);
  for (const directory of sources.directories) sources.embeddedDirectories.delete(directory);
  return sources;
}

/** The main module, one of a go.work, or a `replace` by a directory: anything else lies in the module cache. */
function isLocal(module: ListedModule): boolean {
  return module.Main === true || (module.Replace !== undefined && module.Replace.Version === undefined);
}

function addPackage(sources: SourceSet, listed: ListedPackage): void {
  const goMod = listed.Module?.Replace?.GoMod ?? listed.Module?.GoMod;
  if (goMod) sources.directories.add(directoryOf(goMod));
  if (!listed.Dir) return;
  sources.directories.add(listed.Dir);
  for (const name of listed.EmbedFiles ?? []) {
    const file = `${listed.Dir}/${name}`;
    sources.embedded.add(file);
    if (directoryOf(file) !== listed.Dir) sources.embeddedDirectories.add(directoryOf(file));
  }
}

/** Packages of these modules that are imported but not written yet: the build waits for just their first file. */
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

function directoryOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/'));
}
