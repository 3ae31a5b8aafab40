import { relative, resolve } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { similarNames } from '../../similar.ts';
import { programName } from '../image/started-words.ts';
import type { FoundCommand, ProgramHints } from '../language.ts';
import type { Binary, Workspace } from './cargo.ts';

export interface ChosenBinary {
  binary: Binary;
  source: string;
  rivals: Binary[];
}

type Choice = ChosenBinary | undefined;

/** The program that is the manager. Throws 'controller.no-main' if that is not certain. */
export function chooseBinary(
  { binaries, root }: Workspace,
  hints: ProgramHints,
  image: FoundCommand | undefined,
): ChosenBinary {
  if (hints.named) return namedBinary(binaries, hints.named, root);
  const named = byName(binaries, hints, image);
  if (named !== undefined) return named;
  const callers = binaries.filter(({ callsKubernetes }) => callsKubernetes);
  const own = callers.length > 0 ? callers : binaries;
  const main = onlyOne(own, ({ isDefault }) => isDefault, 'the default-run of its package');
  if (main !== undefined) return { ...main, rivals: own.filter((one) => one !== main.binary) };
  const source = binaries.length === 1 ? 'the only program' : 'the only program that depends on kube';
  const only = own.length === 1 ? onlyOne(own, () => true, source) : undefined;
  if (only !== undefined) return only;
  throw own.length === 0 ? none(root) : several(own);
}

/** The program whose name the container or its image names. */
function byName(binaries: Binary[], { command = [] }: ProgramHints, image: FoundCommand | undefined): Choice {
  const ofContainer = programName(command);
  if (ofContainer !== undefined)
    return onlyOne(binaries, ({ name }) => name === ofContainer, 'the command of the container');
  const ofImage = image && programName([...image.entrypoint, ...image.cmd]);
  return onlyOne(
    binaries,
    ({ name }) => name === ofImage,
    `the program of its image in ${image?.source ?? ''}`,
  );
}

function onlyOne(binaries: Binary[], fits: (one: Binary) => boolean, source: string): Choice {
  const [binary, ...others] = binaries.filter(fits);
  if (binary === undefined || others.length > 0) return undefined;
  return { binary, source, rivals: [] };
}

/** What the user named: a program, or a package by its name or directory that makes only one. */
function namedBinary(
  binaries: Binary[],
  named: NonNullable<ProgramHints['named']>,
  root: string,
): ChosenBinary {
  const directory = resolve(root, named.package);
  const found =
    onlyOne(binaries, ({ name }) => name === named.package, named.source) ??
    onlyOne(binaries, (one) => one.package === named.package || one.directory === directory, named.source);
  if (found !== undefined) return found;
  const names = binaries.map(({ name }) => name);
  const similar = similarNames(named.package, names);
  throw new DevloopError(
    'controller.no-main',
    `${named.package} (${named.source}) is not a program of this checkout. Its programs: ${names.join(', ') || 'none'}.`,
    names.length > 0 ? { hint: (similar.length > 0 ? similar : names).map(command).join('\n') } : {},
  );
}

const command = (name: string): string => `devloop up --package ${shellWord(name)}`;

function several(binaries: Binary[]): DevloopError {
  const list = binaries.map((one) => `\n  ${one.name}  (package ${one.package})`);
  return new DevloopError(
    'controller.no-main',
    `Several Rust programs could be the manager:${list.join('')}`,
    {
      hint: ['Choose one:', ...binaries.map(({ name }) => command(name))].join('\n'),
    },
  );
}

function none(root: string): DevloopError {
  return new DevloopError(
    'controller.no-main',
    `No package in ${relative('.', root) || root} makes a program.`,
    {
      hint: 'devloop up -- <command> runs an operator that is built elsewhere.',
    },
  );
}
