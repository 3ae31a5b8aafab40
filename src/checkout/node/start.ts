import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isPlainWord } from '../image/started-words.ts';
import type { ImageFile } from '../language.ts';
import { isAtOrBelow } from '../paths.ts';
import { canBuild } from './build.ts';
import { type NodeCommand, nodeCommand } from './command.ts';
import { runWithArguments } from './installed.ts';
import { existing, libraryDirectories, type NodePackage, packageOf } from './packages.ts';

/** How a program of the checkout is started on this machine. */
export interface NodeStart {
  package: NodePackage;
  /** The file that Node runs, which may not have been built yet; absent if something else has to start it. */
  file?: string;
  /** The words that start it. */
  run: string[];
  /** The arguments that a script of package.json gives it. */
  args: string[];
  variables: Record<string, string>;
}

export interface Places {
  root: string;
  packages: NodePackage[];
  imageFiles: ImageFile[];
}

/** Undefined if the checkout does not contain what is started. */
export function startOf(command: NodeCommand, places: Places): NodeStart | undefined {
  if (command.is === 'file') return ofFile(command, places);
  if (command.is === 'script') {
    const own = places.packages.find(({ scripts }) => Object.hasOwn(scripts, command.script));
    return own && scriptOf(own, command.script, places);
  }
  const own = places.packages.find(({ directory, bin, name }) => {
    const isOwn = bin !== undefined && basename(name) === command.program;
    return isOwn || isInstalled(command.program, directory, places.root);
  });
  if (own === undefined) return undefined;
  return basename(own.name) === command.program && own.bin !== undefined
    ? startFile(own, join(own.directory, own.bin), [])
    : { package: own, run: [command.program], args: [], variables: {} };
}

function isInstalled(program: string, directory: string, root: string): boolean {
  return libraryDirectories(directory, root).some((place) => existsSync(join(place, '.bin', program)));
}

/**
 * What a script of package.json starts. Its program runs without a shell and without npm if possible, so that signals reach it. Otherwise
 * the package manager runs the script.
 */
export function scriptOf(own: NodePackage, script: string, { root }: Pick<Places, 'root'>): NodeStart {
  const words = lastCommand(own.scripts[script] ?? '')
    .split(/\s+/)
    .filter(Boolean);
  const command = words.every(isPlainWord) ? nodeCommand(words) : undefined;
  const found = command && startInPackage(own, command, root);
  if (found === undefined) {
    return { package: own, run: runWithArguments(script, own, root), args: [], variables: {} };
  }
  const variables = words.flatMap((word) => [...word.matchAll(/^(\w+)=(.*)$/g)]);
  return {
    ...found,
    variables: {
      ...found.variables,
      ...Object.fromEntries(variables.map(([, name, value]) => [name, value])),
    },
    args: [...found.args, ...command!.args],
  };
}

function startInPackage(own: NodePackage, command: NodeCommand, root: string): NodeStart | undefined {
  const { directory } = own;
  if (command.is === 'file') return startFile(own, join(directory, command.file), command.options);
  if (command.is === 'program')
    return isInstalled(command.program, directory, root)
      ? { package: own, run: [command.program], args: [], variables: {} }
      : undefined;
  // A script that starts itself has no program.
  const others = Object.fromEntries(
    Object.entries(own.scripts).filter(([, text]) => !text.includes(command.script)),
  );
  return Object.hasOwn(others, command.script)
    ? scriptOf({ ...own, scripts: others }, command.script, { root })
    : undefined;
}

/** `npm run build && node dist/main.js`: the program is built anyway. */
function lastCommand(script: string): string {
  return script.replace(/^(?:(?:npm|yarn|pnpm|bun) run build|tsc(?: -p \S+)?) *&& */, '');
}

export function startFile(own: NodePackage, path: string, options: string[]): NodeStart {
  const file = existing(path) ?? (/\.[cm]?[jt]s$/.test(path) ? path : `${path}.js`);
  return { package: own, file, run: ['node', ...options, file], args: [], variables: {} };
}

/** A file of the image, as this machine names it: one that exists, or else one that a build makes. */
function ofFile(
  { file, options }: Extract<NodeCommand, { is: 'file' }>,
  places: Places,
): NodeStart | undefined {
  const paths = pathsOf(file, places).filter((path) => isAtOrBelow(path, places.root));
  const found =
    paths.find((path) => existing(path) !== undefined) ?? paths.find((path) => isOutput(path, places));
  const own = found === undefined ? undefined : packageOf(found, places.packages);
  return own && startFile(own, found!, options);
}

/** Where a path of the image can be. The working directory of the image is usually that of a package. */
function pathsOf(file: string, { packages, imageFiles }: Places): string[] {
  const mapped = imageFiles
    .filter(({ to }) => isAtOrBelow(file, to))
    .map(({ from, to }) => join(from, file.slice(to.length)))
    .reverse();
  const parts = file.split('/').filter((part) => part !== '' && part !== '.');
  const ends = file.startsWith('/')
    ? parts.map((_, index) => parts.slice(index).join('/'))
    : [parts.join('/')];
  return [...mapped, ...ends.flatMap((end) => packages.map(({ directory }) => join(directory, end)))];
}

/** Where compilers put JavaScript, unless the package names another directory. */
const OUTPUT = /^(?:dist|build|lib|out)$/;

/** Whether the build of a package makes this file. */
function isOutput(path: string, { packages }: Places): boolean {
  const own = packageOf(path, packages);
  if (own === undefined || !canBuild(own)) return false;
  const [first = '', ...rest] = path.slice(own.directory.length + 1).split('/');
  return (
    rest.length > 0 && (OUTPUT.test(first) || own.main?.replace(/^\.\//, '').startsWith(`${first}/`) === true)
  );
}
