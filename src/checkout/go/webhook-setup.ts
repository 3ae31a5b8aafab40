import { dirname, join, relative } from 'node:path';
import type { Checkout } from '../files.ts';
import { markedPaths } from '../text-facts.ts';
import { type GoFiles, goFiles } from './files.ts';
import { directives, packageDirectory, wordAfter } from './go-mod.ts';
import { sourcesIn } from './local-modules.ts';
import type { GoFile, Parameter } from './reader/nodes.ts';
import { lastName } from './sources.ts';

/** How a checkout's sources register the webhooks of some paths: what a Go test needs in order to call them. */
export interface WebhookSetup {
  /** The package to which the test belongs, and its directory (relative to the checkout, empty for its root). */
  packageName: string;
  directory: string;
  /**
   * The calls that register the webhooks, such as `SetupApplicationWebhookWithManager(mgr)`; empty if no function of the usual form was
   * found.
   */
  calls: string[];
  /** `AddToScheme` for the package itself, `examplev1.AddToScheme` for a package that it imports. */
  schemes: string[];
  /** The imports for `schemes`: `examplev1 "example.com/application-operator/api/v1"`. */
  imports: string[];
  /** The minor version of controller-runtime (24 for 0.24); undefined if the module does not require it. */
  controllerRuntime: number | undefined;
}

const CONTROLLER_RUNTIME = 'sigs.k8s.io/controller-runtime';
/** The packages that define the manager, with their names. */
const OF_MANAGER = new Map([
  [CONTROLLER_RUNTIME, 'controllerruntime'],
  [`${CONTROLLER_RUNTIME}/pkg/manager`, 'manager'],
]);
const FUNCTION = /^Setup/;
const METHOD = /^Setup.*Webhook/;
const SCHEME = 'AddToScheme';

/**
 * Finds the files in which kubebuilder's markers declare these paths, and the functions in them that register webhooks with a manager: one
 * entry per package. If no marker names a path, there is one entry without calls.
 */
export async function findWebhookSetups(checkout: Checkout, paths: string[]): Promise<WebhookSetup[]> {
  const { root } = checkout;
  const goMod = checkout.text(join(root, 'go.mod'));
  const module = wordAfter('module', goMod);
  const runtime = directives(goMod).find(([verb, path]) => verb === 'require' && path === CONTROLLER_RUNTIME);
  const minor = /^v0\.(\d+)\./.exec(runtime?.[2] ?? '')?.[1];
  const controllerRuntime = minor === undefined ? undefined : Number(minor);
  const declares = (file: string): boolean =>
    markedPaths(checkout.text(file)).some((path) => paths.includes(path));
  const declaring = checkout.files((name) => name.endsWith('.go')).filter(declares);
  const read = await goFiles(checkout);
  const setups = [...Map.groupBy(declaring, dirname)].map(([directory, there]): WebhookSetup => {
    const files = there.map((path) => read.source(path).file);
    const { schemes, imports } = schemesOf(files, { directory, module, read, checkout });
    return {
      packageName: files[0]!.package || 'main',
      directory: relative(root, directory),
      calls: files.flatMap(callsIn),
      schemes,
      imports,
      controllerRuntime,
    };
  });
  if (setups.length > 0) return setups;
  return [{ packageName: 'main', directory: '', calls: [], schemes: [], imports: [], controllerRuntime }];
}

/** The calls of functions that take a manager and return an error. */
function callsIn(file: GoFile): string[] {
  const names = new Set(
    file.imports.flatMap(({ path, alias }) => (OF_MANAGER.has(path) ? [alias ?? OF_MANAGER.get(path)] : [])),
  );
  const isManager = ({ type }: Parameter): boolean =>
    type.kind === 'selector' && type.name === 'Manager' && names.has(lastName(type.of));
  return file.functions.flatMap(({ name, receiver: [receiver], parameters, results }) => {
    const [manager, ...others] = parameters;
    const [result, ...more] = results;
    const isFit = manager && manager.names.length < 2 && isManager(manager) && others.length === 0;
    if (!isFit || lastName(result?.type) !== 'error' || more.length > 0) return [];
    if (receiver === undefined) return FUNCTION.test(name) ? [`${name}(mgr)`] : [];
    const { type } = receiver;
    return METHOD.test(name) ? [`(&${lastName(type.kind === 'unary' ? type.of : type)}{}).${name}(mgr)`] : [];
  });
}

interface Place {
  directory: string;
  module: string | undefined;
  read: GoFiles;
  checkout: Checkout;
}

/** Packages of the module that define AddToScheme: the package of the webhooks, or else the packages that it imports. */
function schemesOf(
  files: GoFile[],
  { directory, module = '', read, checkout }: Place,
): Pick<WebhookSetup, 'schemes' | 'imports'> {
  if (packageIn(directory, { read, checkout }).definesScheme) return { schemes: [SCHEME], imports: [] };
  const found = new Map<string, string>();
  for (const { alias, path } of files.flatMap(({ imports }) => imports)) {
    const target = packageDirectory(path, [{ directory: checkout.root, path: module }]);
    if (target === undefined || alias === '_' || alias === '.') continue;
    const { name, definesScheme } = packageIn(target, { read, checkout });
    if (definesScheme) found.set(path, alias ?? name);
  }
  const entries = [...found];
  return {
    schemes: entries.map(([, alias]) => `${alias}.${SCHEME}`),
    imports: entries.map(([path, alias]) => `${alias} "${path}"`),
  };
}

function packageIn(
  directory: string,
  { read, checkout }: Pick<Place, 'read' | 'checkout'>,
): { name: string; definesScheme: boolean } {
  // Generated files define it, too.
  const isWanted = (text: string): boolean => text.includes(SCHEME);
  const files = sourcesIn(directory, checkout).map((path) => read.source(path, isWanted).file);
  const definesScheme = files.some(
    ({ assignments, functions }) =>
      assignments.some(({ target, within }) => within === 0 && lastName(target) === SCHEME) ||
      functions.some(({ name, receiver }) => name === SCHEME && receiver.length === 0),
  );
  return { name: files[0]?.package || 'api', definesScheme };
}
