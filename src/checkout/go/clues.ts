import { basename, join } from 'node:path';
import { isScalar, parseAllDocuments, visit } from 'yaml';
import { imageName } from '../../phrases.ts';
import type { Checkout } from '../files.ts';
import { type Dockerfile, readDockerfile } from '../image/dockerfile.ts';
import { programName } from '../image/started-words.ts';
import { imageBuilds } from '../make/build-arguments.ts';
import { asPackage, type GoCheckout, type MainDirectory, moduleOf } from './checkout.ts';
import type { ChoiceHints, MainPackage } from './choice.ts';
import { createPackageReader, type ReadPackage } from './closure.ts';
import { goFiles } from './files.ts';
import { type GoModule, isIn } from './go-mod.ts';
import { linksByImports } from './libraries.ts';
import { type PackageFacts, packageFacts } from './program-facts.ts';
import { type BuildRecipe, buildRecipes, type GoDockerfile, mainsNamed, withoutPatterns } from './recipes.ts';
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
export async function readClues(go: GoCheckout, hints: ClusterHints): Promise<ChoiceHints> {
  const { checkout, root, modules } = go;
  const own = moduleOf(root, modules)?.path ?? '';
  const { workload, container, command = [], paths = [] } = hints;
  const image = imageName(hints.image ?? '') || undefined;
  const names = [workload, container].filter((name) => name !== undefined);
  const wanted = image === undefined ? names : [image, ...names];
  const directories = [...new Set([root, ...modules.map((one) => one.directory)])];
  const makefiles = directories.map((directory) => readMakefile(directory, checkout));
  const known = { wanted, builds: imageBuilds(makefiles[0]!.text) };
  const dockerfiles = await Promise.all(
    go.dockerfiles.map(async (file) =>
      goDockerfile(checkout, await readDockerfile(checkout, file, known), own),
    ),
  );
  return {
    program: programName(command),
    image,
    names,
    paths: [...new Set(paths)].filter((path) => !UNSPECIFIC.has(path)),
    dockerfiles: dockerfiles.map((one) => besideMains(one, go)),
    makefile: makefiles.flatMap((one) => makeRecipes(one, go)),
    ko: workload === undefined ? [] : koPackages(checkout, own, workload),
  };
}

/** A Dockerfile with its builds of Go programs. */
function goDockerfile(checkout: Checkout, dockerfile: Dockerfile, module: string): GoDockerfile {
  const { text, texts } = dockerfile;
  const { root } = checkout;
  const recipes = [
    ...buildRecipes(text, module),
    ...scriptRecipes(text, { checkout, directory: root, module }),
  ];
  for (const other of texts) {
    const known = new Set(recipes.map((recipe) => recipe.package));
    recipes.push(...buildRecipes(other, module).filter((recipe) => !known.has(recipe.package)));
  }
  return { ...dockerfile, recipes: recipes.map((recipe) => ({ ...recipe, madeIn: root })) };
}

/** A Dockerfile can name packages relative to its own directory instead of the root. */
function besideMains(dockerfile: GoDockerfile, checkout: GoCheckout): GoDockerfile {
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

function readMakefile(directory: string, checkout: Checkout): Makefile {
  const read = (name: string): string => checkout.text(join(directory, name));
  const own = MAKEFILES.map(read).find((text) => text !== '') ?? '';
  const included = [...own.matchAll(INCLUDED)].map(([, name]) => read(name!));
  return { directory, text: [...included, own].join('\n') };
}

/** The builds of a Makefile, with packages relative to the root. */
function makeRecipes({ directory, text }: Makefile, go: GoCheckout): BuildRecipe[] {
  const { checkout, root, modules } = go;
  const module = moduleOf(directory, modules)?.path ?? '';
  const recipes = [...buildRecipes(text, module), ...scriptRecipes(text, { checkout, directory, module })];
  const named = recipes.map((recipe) => ({
    ...recipe,
    madeIn: directory,
    package: asPackage(root, join(directory, recipe.package)),
  }));
  return withoutPatterns(named, go);
}

/** Reads the sources of each main package, and of the packages of the checkout that it is built from. */
export async function readMains(
  { checkout, modules, mains }: GoCheckout,
  clues: ChoiceHints,
  tags: ReadonlySet<string>,
): Promise<MainPackage[]> {
  const recipes = [...clues.makefile, ...clues.dockerfiles.flatMap((one) => one.recipes)];
  const all = new Set([...tags, ...recipes.flatMap((recipe) => recipe.tags.split(','))]);
  const { paths } = clues;
  const files = await goFiles(checkout);
  const reader = createPackageReader(checkout, { files, modules, paths, tags: all });
  const closures = mains.map(({ directory }) => reader.closure(directory));
  const packages = new Map(closures.flat().map((one) => [one.directory, one]));
  const facts = packageFacts(packages, { paths, modules });
  return mains.map((main, index) => mainPackage(main, closures[index]!, { modules, facts }));
}

function mainPackage(
  main: MainDirectory,
  closure: ReadPackage[],
  { modules, facts }: { modules: GoModule[]; facts: ReadonlyMap<string, PackageFacts> },
): MainPackage {
  const isLocal = (path: string): boolean => modules.some((module) => isIn(path, module.path));
  const linked = closure.map(({ directory }) => facts.get(directory)!);
  const below = closure.filter(({ directory }) => directory.startsWith(`${main.directory}/`));
  const pathsBelow = below.flatMap(({ directory }) => [...facts.get(directory)!.paths]);
  return {
    package: main.package,
    module: basename(main.module.path.replace(/\/v\d+$/, '')),
    isManager: linksByImports(new Set(closure.flatMap(({ imports }) => [...imports])), isLocal),
    paths: new Set(linked.flatMap(({ paths }) => [...paths])),
    pathsBelow: new Set(main.package === '.' ? [] : pathsBelow),
    registersWebhooks: linked.some((one) => one.registersWebhooks),
    readsOwnName: linked.some((one) => one.readsOwnName),
  };
}

/** Where projects keep the manifests that they apply with `ko apply -f`. */
const MANIFESTS = ['config', 'deploy', 'manifests', 'kubernetes'];
const IMAGE = 'ko://';
const KINDS = new Set<unknown>(['Deployment', 'StatefulSet', 'DaemonSet']);

/** The packages of a module that ko builds for a workload: its manifest in the checkout has `image: ko://<module>/cmd/webhook`. */
function koPackages(checkout: Checkout, module: string, workload: string): string[] {
  const isManifest = (name: string): boolean => /\.ya?ml$/.test(name);
  const files = MANIFESTS.flatMap((place) => checkout.files(isManifest, join(checkout.root, place)));
  const texts = files.map((file) => checkout.text(file)).filter((text) => text.includes(IMAGE));
  const images = texts.flatMap((text) => imagesOf(text, workload));
  const own = images.filter((image) => image.startsWith(`${IMAGE}${module}/`));
  return [...new Set(own.map((image) => `./${image.slice(IMAGE.length + module.length + 1)}`))];
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
