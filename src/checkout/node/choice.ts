import { join, relative, resolve } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { ProgramHints } from '../language.ts';
import { callsKubernetes, existing, type NodePackage, packageOf } from './packages.ts';
import { type NodeStart, type Places, scriptOf, startFile } from './start.ts';

/** A program that a package.json names, and where. */
interface Candidate {
  start: NodeStart;
  source: string;
}

const SHOWN = 6;

/** The name of a program for `--package`: its file, or the package.json whose script starts it. */
export function nameOf({ file, package: own }: NodeStart, root: string): string {
  return relative(root, file ?? join(own.directory, 'package.json'));
}

/**
 * The program where neither container nor image tells: that of the package that calls Kubernetes. Throws 'controller.no-main' if that is not
 * certain.
 */
export function chooseProgram(places: Places): Candidate {
  const callers = places.packages.filter(callsKubernetes);
  const own = callers.length > 0 ? callers : places.packages;
  const found = own.flatMap((one) => ofPackage(one, places) ?? []);
  const [only, ...others] = found;
  if (only === undefined) throw none(places.root);
  if (others.length > 0) throw several(found, places.root);
  return only;
}

function ofPackage(own: NodePackage, places: Places): Candidate | undefined {
  const at = join(relative(places.root, own.directory), 'package.json');
  if (own.scripts.start !== undefined)
    return { start: scriptOf(own, 'start', places), source: `scripts.start in ${at}` };
  const file = own.bin ?? own.main;
  if (file === undefined) return undefined;
  const source = `${own.bin === undefined ? 'main' : 'bin'} in ${at}`;
  return { start: startFile(own, join(own.directory, file), []), source };
}

/** What the user named: a file, or a package by its directory or its package.json. */
export function namedProgram(
  { package: name, source }: NonNullable<ProgramHints['named']>,
  places: Places,
): Candidate {
  const path = resolve(places.root, name);
  const whole = places.packages.find(({ directory }) =>
    [directory, join(directory, 'package.json')].includes(path),
  );
  const found = whole && ofPackage(whole, places);
  if (found !== undefined) return { ...found, source };
  const own = packageOf(path, places.packages);
  if (own !== undefined && (existing(path) !== undefined || own.scripts.build !== undefined))
    return { start: startFile(own, path, []), source };
  const names = places.packages
    .flatMap((one) => ofPackage(one, places) ?? [])
    .map(({ start }) => nameOf(start, places.root));
  throw new DevloopError(
    'controller.no-main',
    `${name} (${source}) is neither a file nor a package of this checkout that can be started. Its programs: ${names.join(', ') || 'none'}.`,
    names.length > 0 ? { hint: names.slice(0, SHOWN).map(command).join('\n') } : {},
  );
}

const command = (name: string): string => `devloop up --package ${shellWord(name)}`;

function several(found: Candidate[], root: string): DevloopError {
  const list = found.map(({ start, source }) => `\n  ${nameOf(start, root)}  (${source})`);
  const commands = found.slice(0, SHOWN).map(({ start }) => command(nameOf(start, root)));
  return new DevloopError(
    'controller.no-main',
    `Several Node programs could be the operator:${list.join('')}`,
    {
      hint: ['Choose one:', ...commands].join('\n'),
    },
  );
}

function none(root: string): DevloopError {
  return new DevloopError(
    'controller.no-main',
    `No package.json in ${root} has scripts.start, bin or main, and neither the container nor a Dockerfile names a file of the checkout.`,
    { hint: 'devloop up --package FILE starts a file, and devloop up -- COMMAND runs any command.' },
  );
}
