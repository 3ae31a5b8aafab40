import { basename, relative } from 'node:path';
import { imageName } from '../../phrases.ts';
import type { Checkout } from '../files.ts';
import type { FoundCommand, ImageFile } from '../language.ts';
import { type Dockerfile, type DockerfileHints, isPart, readDockerfile } from './dockerfile.ts';
import { programName } from './started-words.ts';
import { agreedVariables } from './variables.ts';

/** What is known about an image from the container that runs it. */
export interface ImageHints {
  /** The last part of the image's name, without its tag. */
  image: string | undefined;
  /** The file name of the program that the container names. */
  program: string | undefined;
  /** The names of the workload and of the container. */
  names: string[];
}

/**
 * The Dockerfiles that can be for the workload's image. The first rule that fits any Dockerfile decides: it is named like the image, has
 * the container's program, or is named like the workload or container. If no rule fits, all Dockerfiles. `builds`: whether one of its
 * builds makes a program of this name.
 */
export function ofImage<T extends Dockerfile>(
  dockerfiles: T[],
  { image, program, names }: ImageHints,
  builds: (one: T, program: string) => boolean = () => false,
): T[] {
  const isNamed = (one: T): boolean =>
    image !== undefined && one.names.some((name) => name === image || isPart(name, image));
  const hasProgram = (one: T): boolean =>
    program !== undefined && (one.programs.includes(program) || builds(one, program));
  const isOfWorkload = (one: T): boolean =>
    one.names.some((name) => names.some((whole) => isPart(name, whole)));
  for (const fits of [isNamed, hasProgram, isOfWorkload]) {
    const fitting = dockerfiles.filter(fits);
    if (fitting.length > 0) return fitting;
  }
  return dockerfiles;
}

/** The files of the checkout in these images, except those on whose source they disagree. */
export function agreedFiles(images: Dockerfile[]): ImageFile[] {
  const byPlace = Map.groupBy(
    images.flatMap(({ files }) => files),
    ({ to }) => to,
  );
  return [...byPlace.values()].flatMap((same) =>
    new Set(same.map(({ from }) => from)).size === 1 ? same.slice(0, 1) : [],
  );
}

/** How these images start their program; undefined if none tells, or they differ. */
export function agreedCommand(images: Pick<Dockerfile, 'file' | 'commands'>[]): FoundCommand | undefined {
  const found = images.flatMap(({ file, commands }) =>
    commands.map((command) => ({ ...command, source: file })),
  );
  const different = new Map(found.map((one) => [JSON.stringify([one.entrypoint, one.cmd]), one]));
  return different.size === 1 ? found[0] : undefined;
}

/** What the Dockerfiles of a checkout tell about the workload's image. */
export interface WorkloadImage {
  image: FoundCommand | undefined;
  imageFiles: ImageFile[];
  imageVariables: Record<string, string>;
}

/** Reads the image of a workload whose program no Dockerfile has to build, as those of scripting languages. */
export async function readImage(
  checkout: Checkout,
  { command = [], image, workload, container }: WorkloadHints,
): Promise<WorkloadImage> {
  const names = [workload, container].filter((name) => name !== undefined);
  const hints = { image: imageName(image ?? '') || undefined, program: programName(command), names };
  const wanted = hints.image === undefined ? names : [hints.image, ...names];
  const images = ofImage(await readDockerfiles(checkout, { wanted, builds: [] }), hints);
  return {
    image: agreedCommand(images),
    imageFiles: agreedFiles(images),
    imageVariables: agreedVariables(images.map(({ variables }) => variables)),
  };
}

/** All Dockerfiles of a checkout. */
export async function readDockerfiles(checkout: Checkout, hints: DockerfileHints): Promise<Dockerfile[]> {
  const files = checkout.files(isDockerfile).map((path) => relative(checkout.root, path));
  return await Promise.all(files.map((file) => readDockerfile(checkout, file, hints)));
}

interface WorkloadHints {
  command?: string[];
  image?: string | undefined;
  workload?: string | undefined;
  container?: string | undefined;
}

const DOCKERFILE = /^(?:Docker|Container)file(?:\..+)?$|\.(?:Docker|Container)file$/i;

/** Whether a file of this name is a Dockerfile. */
export function isDockerfile(name: string): boolean {
  return DOCKERFILE.test(basename(name)) && !name.endsWith('.dockerignore');
}

/** The words that the container runs, and where they are written: its own command, or that of its image. */
export function containerWords(
  { command = [], args = [] }: { command?: string[]; args?: string[] },
  { image }: Pick<WorkloadImage, 'image'>,
): { words: string[]; source: string } {
  const ofImage = [...(image?.entrypoint ?? []), ...(args.length > 0 ? [] : (image?.cmd ?? []))];
  const words = [...(command.length > 0 ? command : ofImage), ...args];
  const isOwn = command.length > 0 || image === undefined;
  return {
    words,
    source: isOwn ? 'the command of the container' : `the command of its image in ${image.source}`,
  };
}
