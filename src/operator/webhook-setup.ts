import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { goSources, MARKER_PATH } from './sources.ts';

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

const FUNCTION = /^func (Setup\w*)\(\s*\w+ (?:ctrl|manager)\.Manager\s*\) error\b/gm;
const METHOD =
  /^func \((?:\w+ )?\*?(\w+)\) (Setup\w*Webhook\w*)\(\s*\w+ (?:ctrl|manager)\.Manager\s*\) error\b/gm;
const IMPORT = /^\s*(?:import\s+)?(?:([\w.]+)\s+)?"([^"\s]+)"\s*$/gm;
const CONTROLLER_RUNTIME = /^\s*(?:require\s+)?sigs\.k8s\.io\/controller-runtime v0\.(\d+)\./m;

/**
 * Finds the files in which kubebuilder's markers declare these paths, and the functions in them that register webhooks with a manager: one
 * entry per package. If no marker names a path, there is one entry without calls.
 */
export async function findWebhookSetups(root: string, paths: string[]): Promise<WebhookSetup[]> {
  const goMod = await readFile(join(root, 'go.mod'), 'utf8').catch(() => '');
  const module = /^module\s+(\S+)/m.exec(goMod)?.[1];
  const minor = CONTROLLER_RUNTIME.exec(goMod)?.[1];
  const controllerRuntime = minor === undefined ? undefined : Number(minor);
  const declaring = (await goSources(root)).filter(({ text }) =>
    [...text.matchAll(MARKER_PATH)].some(([, path]) => paths.includes(path!)),
  );
  const byDirectory = Map.groupBy(declaring, ({ file }) => dirname(file));
  const setups = [...byDirectory].map(async ([directory, there]): Promise<WebhookSetup> => {
    const text = there.map((one) => one.text).join('\n');
    const { schemes, imports } = await schemesOf(text, { directory, root, module });
    return {
      packageName: /^package (\w+)/m.exec(text)?.[1] ?? 'main',
      directory: relative(root, directory),
      calls: callsIn(text),
      schemes,
      imports,
      controllerRuntime,
    };
  });
  if (setups.length > 0) return await Promise.all(setups);
  return [{ packageName: 'main', directory: '', calls: [], schemes: [], imports: [], controllerRuntime }];
}

function callsIn(text: string): string[] {
  const functions = [...text.matchAll(FUNCTION)].map(([, name]) => `${name}(mgr)`);
  const methods = [...text.matchAll(METHOD)].map(([, type, name]) => `(&${type}{}).${name}(mgr)`);
  return [...functions, ...methods];
}

/** Packages of the module that define AddToScheme: the package of the webhooks, or else the packages that it imports. */
async function schemesOf(
  text: string,
  { directory, root, module }: { directory: string; root: string; module: string | undefined },
): Promise<Pick<WebhookSetup, 'schemes' | 'imports'>> {
  if (await definesScheme(directory)) return { schemes: ['AddToScheme'], imports: [] };
  const own = [...text.matchAll(IMPORT)].filter(([, , path]) => module && path!.startsWith(`${module}/`));
  const found = new Map<string, string>();
  for (const [, alias, path = ''] of own) {
    const target = join(root, path.slice(module!.length));
    if (alias !== '_' && alias !== '.' && (await definesScheme(target)))
      found.set(path, alias ?? (await packageIn(target)));
  }
  const entries = [...found];
  return {
    schemes: entries.map(([, alias]) => `${alias}.AddToScheme`),
    imports: entries.map(([path, alias]) => `${alias} "${path}"`),
  };
}

async function definesScheme(directory: string): Promise<boolean> {
  const texts = await packageTexts(directory);
  return texts.some((text) => /^\s*(?:var\s+|func\s+)?AddToScheme\b/m.test(text));
}

async function packageIn(directory: string): Promise<string> {
  const [text = ''] = await packageTexts(directory);
  return /^package (\w+)/m.exec(text)?.[1] ?? 'api';
}

async function packageTexts(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const sources = names.filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
  // Beside each file that they have locked, some editors put a link whose target does not exist.
  const read = sources.map((name) => readFile(join(directory, name), 'utf8').catch(() => ''));
  return (await Promise.all(read)).filter(Boolean);
}
