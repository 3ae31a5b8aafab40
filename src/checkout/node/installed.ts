import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findProgram } from '../../machine/find-program.ts';
import { shellWord } from '../../phrases.ts';
import type { Preflight } from '../language.ts';
import { libraryDirectories, type NodePackage } from './packages.ts';

/** A package manager, by the lock file that it writes. */
interface Manager {
  name: string;
  locks: string[];
  install: string;
}

const MANAGERS: Manager[] = [
  { name: 'npm', locks: ['package-lock.json', 'npm-shrinkwrap.json'], install: 'npm ci' },
  { name: 'pnpm', locks: ['pnpm-lock.yaml'], install: 'pnpm install --frozen-lockfile' },
  { name: 'yarn', locks: ['yarn.lock'], install: 'yarn install' },
  { name: 'bun', locks: ['bun.lock', 'bun.lockb'], install: 'bun install' },
];
export const LOCKS = MANAGERS.flatMap(({ locks }) => locks);
const WITHOUT_LOCK: Manager = { name: 'npm', locks: [], install: 'npm install' };
const SHOWN = 3;

/** The package manager of a package: of a workspace, only the root has a lock file. */
function managerOf(directory: string, root: string): Manager & { at: string } {
  for (const at of [directory, root]) {
    const found = MANAGERS.find(({ locks }) => locks.some((lock) => existsSync(join(at, lock))));
    if (found !== undefined) return { ...found, at };
  }
  return { ...WITHOUT_LOCK, at: directory };
}

/** The command that runs a script of a package. */
export function runScript(script: string, { directory }: NodePackage, root: string): string[] {
  return [managerOf(directory, root).name, 'run', script];
}

/** The same, so that the script's arguments can follow. Other managers than npm pass the dashes to the script. */
export function runWithArguments(script: string, own: NodePackage, root: string): string[] {
  const words = runScript(script, own, root);
  return words[0] === 'npm' ? [...words, '--'] : words;
}

/** Whether everything that the program needs is installed; nothing is installed here. `isBuilt`: whether a script of the package builds it. */
export function preflight(
  own: NodePackage,
  { root, isBuilt, path }: { root: string; isBuilt: boolean; path: string },
): Preflight {
  const manager = managerOf(own.directory, root);
  const programs = ['node', ...(isBuilt ? [manager.name] : [])];
  const absent = programs.find((program) => 'why' in findProgram(program, path));
  if (absent !== undefined)
    return {
      is: 'broken',
      problem: `There is no ${absent} on the PATH.`,
      hint: 'Install Node.js from https://nodejs.org',
    };
  const places = libraryDirectories(own.directory, root);
  const needed = Object.keys({ ...own.dependencies, ...(isBuilt && own.devDependencies) });
  const missing = needed.filter((name) => !places.some((place) => existsSync(join(place, name))));
  if (missing.length === 0 || existsSync(join(manager.at, '.pnp.cjs'))) return { is: 'ready' };
  const shown = missing.slice(0, SHOWN).join(', ') + (missing.length > SHOWN ? ', …' : '');
  const where = relative(root, manager.at);
  const hint = where === '' ? manager.install : `cd ${shellWord(where)} && ${manager.install}`;
  return { is: 'broken', problem: `node_modules does not contain ${shown}.`, hint };
}
