import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import type { Checkout } from '../files.ts';
import { startedWords } from '../image/started-words.ts';
import { containerWords, readImage, type WorkloadImage } from '../image/workload-image.ts';
import type { FoundProgram, ProgramHints } from '../language.ts';
import { buildOf } from './build.ts';
import { chooseProgram, namedProgram, nameOf } from './choice.ts';
import { type NodeCommand, nodeCommand } from './command.ts';
import { foreignWord } from './foreign.ts';
import { preflight } from './installed.ts';
import { libraryDirectories, packagesIn } from './packages.ts';
import { type NodeStart, type Places, startOf } from './start.ts';

/** The Node program that is the manager, as its container or its image starts it, or else the one that package.json names. */
export async function nodeProgram(checkout: Checkout, hints: ProgramHints): Promise<FoundProgram> {
  const { root } = checkout;
  const image = await readImage(checkout, hints);
  const places = { root, packages: packagesIn(checkout), imageFiles: image.imageFiles };
  const container = startedBy(hints, image);
  const { start, source } = hints.named
    ? namedProgram(hints.named, places)
    : (ofContainer(container, places) ?? chooseProgram(places));
  const { package: own, run, args, variables } = start;
  const build = await buildOf(start, root, hints.signal);
  const bins = libraryDirectories(own.directory, root).map((place) => join(place, '.bin'));
  const path = [...bins, process.env.PATH ?? ''].join(delimiter);
  return {
    what: 'program',
    name: nameOf(start, root),
    source,
    chosen: [],
    cwd: own.directory,
    build,
    run: [...withLoader(run, root), '{args}'],
    argumentsIn: (words) => [...args, ...argumentsAfter(words, container, places)],
    ownVariables: { ...variables, PATH: path },
    preflight: async () => preflight(own, { root, isBuilt: build !== undefined, path }),
    hasWebhooks: true,
    rivals: [],
    ...image,
  };
}

/** What the container starts: its own command, or its image's. */
interface Container {
  /** The program's first word: `node` or `npm`. */
  first: string;
  command: NodeCommand | undefined;
  source: string;
}

function startedBy(hints: ProgramHints, image: WorkloadImage): Container {
  const { words, source } = containerWords(hints, image);
  return { first: startedWords(words)[0] ?? '', command: nodeCommand(words), source };
}

function ofContainer(
  { command, source }: Container,
  places: Places,
): { start: NodeStart; source: string } | undefined {
  if (command === undefined) return undefined;
  requireOwn(command, places);
  const start = startOf(command, places);
  return start && { start, source };
}

/** Throws 'controller.argument' if the words of the container could run other code than the checkout's. */
function requireOwn(command: NodeCommand, places: Places): void {
  const isFile = (word: string): boolean => fileHere(word, places) !== undefined;
  const foreign = foreignWord(command, places.packages, isFile);
  if (foreign === undefined) return;
  throw new DevloopError(
    'controller.argument',
    `The manager is started with ${foreign}, which is no code of this checkout, so devloop does not run it.`,
    { hint: 'Name the file to run, or your own command:\ndevloop up --package FILE\ndevloop up -- COMMAND' },
  );
}

/** The program's arguments in the container's words, which can still begin with the program, and with its file or its script. */
function argumentsAfter(words: string[], { first, command }: Container, places: Places): string[] {
  if (command === undefined) return words;
  const now = nodeCommand(words[0] === first ? words : [first, ...words]);
  if (now === undefined) return [];
  requireOwn(now, places);
  const [file = '', ...rest] = now.args;
  const here = now.is === 'program' ? fileHere(file, places) : undefined;
  return here === undefined ? now.args : [here, ...rest];
}

/** A file that a program such as tsx starts, as this machine names it; undefined if the checkout does not contain it. */
function fileHere(word: string, places: Places): string | undefined {
  return startOf({ is: 'file', options: [], file: word, args: [] }, places)?.file;
}

/** Yarn can keep the libraries in archives, which Node reads with a file that yarn writes. */
function withLoader([program = '', ...words]: string[], root: string): string[] {
  const loader = join(root, '.pnp.cjs');
  return program === 'node' && existsSync(loader)
    ? [program, '--require', loader, ...words]
    : [program, ...words];
}
