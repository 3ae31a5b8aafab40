import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Checkout } from '../files.ts';
import { isAtOrBelow } from '../paths.ts';

/** A package.json of the checkout. */
export interface NodePackage {
  directory: string;
  name: string;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  main: string | undefined;
  /** The file of its only program. */
  bin: string | undefined;
  /** The versions of Node that it needs: `>=20`. */
  node: string | undefined;
}

/** The packages of a checkout, those nearer to the root first. A package.json that cannot be read is left out. */
export function packagesIn(checkout: Checkout): NodePackage[] {
  const files = checkout.files((name) => name === 'package.json');
  return files.flatMap((file) => readPackage(dirname(file), checkout.text(file)) ?? []);
}

function readPackage(directory: string, text: string): NodePackage | undefined {
  const json = objectIn(text);
  if (json === undefined) return undefined;
  const programs = json.bin instanceof Object ? Object.values(textsIn(json.bin)) : [json.bin];
  return {
    directory,
    name: textOf(json.name) ?? '',
    scripts: textsIn(json.scripts),
    dependencies: textsIn(json.dependencies),
    devDependencies: textsIn(json.devDependencies),
    main: textOf(json.main),
    bin: programs.length === 1 ? textOf(programs[0]) : undefined,
    node: textsIn(json.engines).node,
  };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return json instanceof Object ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function textsIn(value: unknown): Record<string, string> {
  const entries = value instanceof Object ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter(([, one]) => typeof one === 'string'));
}

/** Libraries with which Node programs call Kubernetes. */
const CLIENTS = [
  '@kubernetes/client-node',
  'kubernetes-client',
  'kubernetes-fluent-client',
  '@dot-i/k8s-operator',
];

/** Whether it calls Kubernetes where it runs, rather than in its tests or its build. */
export function callsKubernetes({ dependencies }: NodePackage): boolean {
  return CLIENTS.some((name) => name in dependencies);
}

/** The package that a file belongs to. */
export function packageOf(file: string, packages: NodePackage[]): NodePackage | undefined {
  const own = packages.filter(({ directory }) => isAtOrBelow(file, directory));
  return own.toSorted((a, b) => b.directory.length - a.directory.length)[0];
}

/** The directories in which Node looks for the libraries of a package: its own, and those above it in the checkout. */
export function libraryDirectories(directory: string, root: string): string[] {
  const own = join(directory, 'node_modules');
  return directory === root || !isAtOrBelow(directory, root)
    ? [own]
    : [own, ...libraryDirectories(dirname(directory), root)];
}

/** The file that Node runs for this path: `dist/main` can be dist/main.js. */
export function existing(path: string): string | undefined {
  return [path, `${path}.js`, join(path, 'index.js')].find((one) => /\.\w+$/.test(one) && existsSync(one));
}
