import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isScalar, parseAllDocuments, visit } from 'yaml';
import { readTextFile } from '../../machine/text-file.ts';
import { imageName } from '../../phrases.ts';
import { imageBuilds } from './build-arguments.ts';
import { asPackage, type GoCheckout, type GoModule, isIn, type MainDirectory, moduleOf } from './checkout.ts';
import type { ChoiceHints, MainPackage } from './choice.ts';
import { createPackageReader, type PackageReader } from './closure.ts';
import { type Dockerfile, programName, readDockerfile } from './dockerfile.ts';
import { linksByImports } from './libraries.ts';
import { type BuildRecipe, buildRecipes, mainsNamed, withoutPatterns } from './recipes.ts';
import { scriptRecipes } from './scripts.ts';

/** What is known from the cluster about the manager's program. */
export interface ClusterHints {
  command?: string[];
  image?: string | undefined;
  container?: string | undefined;
  workload?: string | undefined;
  paths?: string[];
}

/** Paths that identify no package: controller-runtime itself serves `/convert`, and almost every program contains `/`. */
const UNSPECIFIC = new Set(['/', '/convert']);

/** Reads the recipes of the checkout. */
export async function readClues(checkout: GoCheckout, hints: ClusterHints): Promise<ChoiceHints> {
  const { root, modules } = checkout;
  const own = moduleOf(root, modules)?.path ?? '';
  const { workload, container, command = [], paths = [] } = hints;
  const image = imageName(hints.image ?? '') || undefined;
  const names = [workload, container].filter((name) => name !== undefined);
  const wanted = image === undefined ? names : [image, ...names];
  const directories = [...new Set([root, ...modules.map((one) => one.directory)])];
  const makefiles = await Promise.all(directories.map(readMakefile));
  const known = { module: own, wanted, builds: imageBuilds(makefiles[0]!.text) };
  const [dockerfiles, makefile, ko] = await Promise.all([
    Promise.all(checkout.dockerfiles.map((file) => readDockerfile(root, file, known))),
    Promise.all(makefiles.map((one) => makeRecipes(one, checkout))),
    hints.workload === undefined ? [] : koPackages({ directory: root, path: own }, hints.workload),
  ]);
  return {
    program: programName(command),
    image,
    names,
    paths: [...new Set(paths)].filter((path) => !UNSPECIFIC.has(path)),
    dockerfiles: dockerfiles.map((one) => besideMains(one, checkout)),
    makefile: makefile.flat(),
    ko,
  };
}

/** A Dockerfile can name packages relative to its own directory instead of the root. */
function besideMains(dockerfile: Dockerfile, checkout: GoCheckout): Dockerfile {
  const directory = dockerfile.file.split('/').slice(0, -1);
  const recipes = dockerfile.recipes.map((recipe) => {
    const below = `./${[...directory, ...recipe.package.split('/').slice(1)].join('/')}`;
    const isMain = (name: string): boolean => mainsNamed(name, checkout).length > 0;
    const isBelow = isMain(below) && (recipe.package === '.' || !isMain(recipe.package));
    return isBelow ? { ...recipe, package: below } : recipe;
  });
  return { ...dockerfile, recipes: withoutPatterns(recipes, checkout) };
}

/** In make's order: it reads the first one only. */
const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];
const INCLUDED = /^-?include\s+([\w./-]+)\s*$/gm;

interface Makefile {
  directory: string;
  /** The contents of the Makefile, and of the Makefiles that it includes. */
  text: string;
}

async function readMakefile(directory: string): Promise<Makefile> {
  const read = (name: string): Promise<string> => readTextFile(join(directory, name));
  const own = (await Promise.all(MAKEFILES.map(read))).find((text) => text !== '') ?? '';
  const included = await Promise.all([...own.matchAll(INCLUDED)].map(([, name]) => read(name!)));
  return { directory, text: [...included, own].join('\n') };
}

/** The builds of a Makefile, with packages relative to the root. */
async function makeRecipes({ directory, text }: Makefile, checkout: GoCheckout): Promise<BuildRecipe[]> {
  const { root, modules } = checkout;
  const module = moduleOf(directory, modules)?.path ?? '';
  const recipes = [...buildRecipes(text, module), ...(await scriptRecipes(text, { directory, module }))];
  const named = recipes.map((recipe) => ({
    ...recipe,
    madeIn: directory,
    package: asPackage(root, join(directory, recipe.package)),
  }));
  return withoutPatterns(named, checkout);
}

/** Reads the sources of each main package, and of the packages of the checkout that it is built from. */
export async function readMains(
  checkout: GoCheckout,
  clues: ChoiceHints,
  tags: ReadonlySet<string>,
): Promise<MainPackage[]> {
  const recipes = [...clues.makefile, ...clues.dockerfiles.flatMap((one) => one.recipes)];
  const all = new Set([...tags, ...recipes.flatMap((recipe) => recipe.tags.split(','))]);
  const reader = createPackageReader(checkout.modules, clues.paths, all);
  return await Promise.all(checkout.mains.map((main) => readMain(main, checkout, reader)));
}

async function readMain(
  main: MainDirectory,
  { modules }: GoCheckout,
  reader: PackageReader,
): Promise<MainPackage> {
  const closure = await reader.closure(main.directory);
  const below = closure.filter(({ directory }) => directory.startsWith(`${main.directory}/`));
  const isLocal = (path: string): boolean => modules.some((module) => isIn(path, module.path));
  return {
    package: main.package,
    module: basename(main.module.path.replace(/\/v\d+$/, '')),
    isManager: linksByImports(new Set(closure.flatMap(({ imports }) => [...imports])), isLocal),
    paths: new Set(closure.flatMap(({ paths }) => [...paths])),
    pathsBelow: new Set(main.package === '.' ? [] : below.flatMap(({ paths }) => [...paths])),
    registersWebhooks: closure.some((one) => one.registersWebhooks),
    readsOwnName: closure.some((one) => one.readsOwnName),
  };
}

/** Where projects keep the manifests that they apply with `ko apply -f`. */
const MANIFESTS = ['config', 'deploy', 'manifests', 'kubernetes'];
const IMAGE = 'ko://';
const KINDS = new Set<unknown>(['Deployment', 'StatefulSet', 'DaemonSet']);

/** The Go packages that ko builds for a workload: its manifest in the checkout has `image: ko://<module>/cmd/webhook`. */
async function koPackages({ directory, path }: GoModule, workload: string): Promise<string[]> {
  const files = await Promise.all(MANIFESTS.map((place) => manifestsIn(join(directory, place))));
  const images: string[] = [];
  // Files are read one after the other: a repository of charts has more files than a process can open at once.
  for (const file of files.flat()) {
    const text = await readTextFile(file);
    if (text.includes(IMAGE)) images.push(...imagesOf(text, workload));
  }
  const own = images.filter((image) => image.startsWith(`${IMAGE}${path}/`));
  return [...new Set(own.map((image) => `./${image.slice(IMAGE.length + path.length + 1)}`))];
}

async function manifestsIn(directory: string): Promise<string[]> {
  const files = await readdir(directory, { recursive: true }).catch(() => []);
  return files.filter((file) => /\.ya?ml$/.test(file)).map((file) => join(directory, file));
}

function imagesOf(text: string, workload: string): string[] {
  const images: string[] = [];
  for (const document of parseAllDocuments(text)) {
    if (!('contents' in document) || !KINDS.has(document.get('kind'))) continue;
    if (document.getIn(['metadata', 'name']) !== workload) continue;
    visit(document, {
      Pair(_, { key, value }) {
        const isImage = isScalar(key) && key.value === 'image' && isScalar(value);
        if (isImage && String(value.value).startsWith(IMAGE)) images.push(String(value.value));
      },
    });
  }
  return images;
}
