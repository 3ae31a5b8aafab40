import { basename, dirname, join } from 'node:path';
import type { Checkout } from '../files.ts';
import type { ImageFile } from '../language.ts';
import { agreedArguments, type ImageBuild, withArguments } from '../make/build-arguments.ts';
import { buildVariables } from '../make/build-text.ts';
import { expandKnown } from '../make/variables.ts';
import { throughScript } from './entry-script.ts';
import { imageFiles, type Stage } from './files.ts';
import { programName, startedWords } from './started-words.ts';
import { agreedVariables, imageVariables } from './variables.ts';

/** What an image starts, in the words of its ENTRYPOINT and CMD. */
export interface ImageCommand {
  entrypoint: string[];
  cmd: string[];
}

/** A Dockerfile of a checkout. */
export interface Dockerfile {
  /** The path relative to the root: 'build/webhook.Dockerfile' */
  file: string;
  /** What the Dockerfile is for, judging by the names of the file and its directory: `webhook`. */
  names: string[];
  /** The file names of the programs that its stages run: several if it makes several images. */
  programs: string[];
  /** How its stages start a program, if all words are known. */
  commands: ImageCommand[];
  /** Its instructions with the values of build arguments on which all builds agree; each variable has an instruction of its own. */
  text: string;
  /** The same with the arguments of each build: one Dockerfile can serve several programs, `--build-arg package=./cmd/webhook`. */
  texts: string[];
  /** The files of the checkout in the stages that start a program; if no stage does, those in the last stage. */
  files: ImageFile[];
  /** The variables that the stages of `files` set with ENV, if these stages agree on the value. */
  variables: Record<string, string>;
}

/** A comment line does not end an instruction that continues after it. */
const COMMENTS = /^[ \t]*#[^\n]*\n?/gm;
/** Directory names that do not describe their contents. */
const COMMON = new Set('. build docker dockerfiles images image package deploy hack config'.split(' '));

/** What is known about an image without its Dockerfile. */
export interface DockerfileHints {
  /** The names of the Deployment, its container and its image; one of them may be the program's name. */
  wanted: string[];
  /** The Makefile's commands that build images. */
  builds: ImageBuild[];
}

export async function readDockerfile(
  checkout: Checkout,
  file: string,
  { wanted, builds }: DockerfileHints,
): Promise<Dockerfile> {
  const path = join(checkout.root, file);
  const instructions = instructionsIn(checkout.text(path));
  const own = builds.filter(({ dockerfile = file }) => dockerfile === file);
  const text = withArguments(instructions, agreedArguments(own));
  const stages = stagesOf(text);
  const copied = await imageFiles(stages, [checkout.root, dirname(path)]);
  const starts = stages.map((stage, index) => startOf(stage, copied[index]!, checkout));
  const isStart = (_: unknown, index: number): boolean => programIn(starts[index]!) !== undefined;
  const ofStarts = copied.filter(isStart);
  const set = imageVariables(text);
  const setByStarts = set.filter(isStart);
  const [, after, before] =
    /^(?:docker|container)file\.?(.*)$|^(.*)\.(?:docker|container)file$/i.exec(basename(file)) ?? [];
  const names = [after || before || '', basename(dirname(file))];
  return {
    file,
    names: names.filter((name) => name !== '' && !COMMON.has(name)),
    programs: programsIn(starts, wanted),
    commands: starts.flatMap(({ isKnown, ...command }) => (isKnown ? command : [])),
    files: ofStarts.length > 0 ? ofStarts.flat() : (copied.at(-1) ?? []),
    variables: agreedVariables(setByStarts.length > 0 ? setByStarts : set.slice(-1)),
    text,
    texts: own.map(({ given }) => withArguments(instructions, given)),
  };
}

/**
 * The programs of the stages; only those with a wanted name, if there are any, because a Dockerfile can build several images (`docker build
 * --target`).
 */
function programsIn(starts: Start[], wanted: string[]): string[] {
  const programs = [...new Set(starts.flatMap((start) => programIn(start) ?? []))];
  const named = programs.filter((program) => wanted.some((name) => isPart(program, name)));
  return named.length > 0 ? named : programs;
}

/** `webhook` is a part of shop-webhook, but not of webhooks. */
export function isPart(name: string, whole: string): boolean {
  return `-${whole.replaceAll(/[._]/g, '-')}-`.includes(`-${name.replaceAll(/[._]/g, '-')}-`);
}

/** Puts each instruction on one line, and each variable into an instruction of its own: `ENV NAME=value`. */
function instructionsIn(written: string): string {
  const joined = written.replace(COMMENTS, '').replace(/\\\r?\n/g, ' ');
  return joined.replace(SEVERAL, oneEach).replace(WITHOUT_SIGN, 'ENV $1=$2');
}

function stagesOf(text: string): Stage[] {
  const variables = buildVariables(text);
  const stages = text.split(/^\s*FROM\s/im).slice(1);
  return stages.map((stage) => ({ text: stage, variables }));
}

/** `ENV NAME the value`, Docker's older form. */
const WITHOUT_SIGN = /^\s*ENV[ \t]+(\w+)[ \t]+([^=\s].*)$/gim;

/** `ENV A=1 B="2"` */
const SEVERAL = /^\s*(ENV|ARG)[ \t]+(\w+=.*)$/gim;

function oneEach(_: string, instruction: string, written: string): string {
  const pairs = written.match(/\w+=(?:"[^"]*"|\S*)/g) ?? [];
  return pairs.map((pair) => `${instruction} ${pair.replace(/="(\S*)"$/, '=$1')}`).join('\n');
}

/** How a stage starts its program. */
interface Start extends ImageCommand {
  /** All words are known: no shell evaluates them, and no variable is left. */
  isKnown: boolean;
}

function startOf(stage: Stage, files: ImageFile[], checkout: Checkout): Start {
  const [entrypoint, cmd] = [written(stage, 'ENTRYPOINT'), written(stage, 'CMD')];
  const words = (line: string): string[] => {
    const own = wordsOf(line);
    return throughScript(startedWords(own), { checkout, files, variables: stage.variables }) ?? own;
  };
  const isPlain = (line: string): boolean => line === '' || (line.startsWith('[') && !line.includes('$'));
  const before = words(entrypoint);
  return {
    entrypoint: before,
    cmd: programName(before) === undefined ? words(cmd) : wordsOf(cmd),
    isKnown: entrypoint + cmd !== '' && isPlain(entrypoint) && isPlain(cmd),
  };
}

/** The program of the ENTRYPOINT, or of the CMD if the ENTRYPOINT has none. */
function programIn({ entrypoint, cmd }: Start): string | undefined {
  return programName(entrypoint) ?? programName(cmd);
}

/** The last instruction of this name counts. */
function written({ text, variables }: Stage, instruction: 'ENTRYPOINT' | 'CMD'): string {
  const lines = [...text.matchAll(new RegExp(`^\\s*${instruction}\\s+(.*)$`, 'gim'))];
  return expandKnown(lines.at(-1)?.[1] ?? '', variables).trim();
}

/** The words of `["/manager", "serve"]`, or of a line for a shell. */
function wordsOf(line: string): string[] {
  const quoted = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) =>
    word!.replaceAll(/\\(.)/g, '$1'),
  );
  return line.startsWith('[') ? quoted : line.replaceAll('"', '').split(/\s+/).filter(Boolean);
}
