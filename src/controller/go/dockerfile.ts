import { basename, dirname, join } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import { type ImageFile, imageFiles, type Stage } from './image-files.ts';
import { type BuildRecipe, buildRecipes } from './recipes.ts';
import { scriptRecipes } from './scripts.ts';
import { buildVariables, expandKnown } from './variables.ts';

/** What an image starts, in the words of its ENTRYPOINT and CMD. */
export interface ImageCommand {
  entrypoint: string[];
  cmd: string[];
}

/** A Dockerfile of a checkout. */
export interface Dockerfile {
  /** Relative to the root: 'build/webhook.Dockerfile' */
  file: string;
  /** What its own name and its directory's say that it is for: `webhook`. */
  names: string[];
  /** The file names of the programs that its stages run: several where it makes several images. */
  programs: string[];
  /** How its stages start a program, where all words are known. */
  commands: ImageCommand[];
  recipes: BuildRecipe[];
  /** What its images have of the checkout; those of stages that start nothing only where none starts anything. */
  files: ImageFile[];
}

/** Names of directories that say nothing about what is in them. */
const COMMON = new Set('. build docker dockerfiles images image package deploy hack config'.split(' '));

/** `wanted`: the names of the Deployment, its container and its image, of which one may be the program's. */
export async function readDockerfile(
  root: string,
  file: string,
  { module, wanted }: { module: string; wanted: string[] },
): Promise<Dockerfile> {
  const text = await readTextFile(join(root, file));
  const stages = stagesOf(text);
  const own = /^(?:docker|container)file\.?(.*)$|^(.*)\.(?:docker|container)file$/i.exec(basename(file));
  const names = [own?.[1] || own?.[2] || '', basename(dirname(file))];
  return {
    file,
    names: names.filter((name) => name !== '' && !COMMON.has(name)),
    programs: stagePrograms(stages, wanted),
    commands: stages.flatMap((stage) => stageCommand(stage) ?? []),
    files: await copiedFiles(stages, [root, dirname(join(root, file))]),
    recipes: [...buildRecipes(text, module), ...(await scriptRecipes(text, { directory: root, module }))],
  };
}

async function copiedFiles(stages: Stage[], contexts: string[]): Promise<ImageFile[]> {
  const files = await imageFiles(stages, contexts);
  const starts = files.filter((_, index) => stageProgram(stages[index]!) !== undefined);
  return starts.length > 0 ? starts.flat() : (files.at(-1) ?? []);
}

/** The program of a container's command: shells and init programs start another one. */
export function programOf(words: string[]): string | undefined {
  const program = words.map((word) => basename(word)).find((word) => !STARTERS.test(word));
  return program || undefined;
}

const STARTERS = /^(?:-.*|tini|dumb-init|catatonit|su-exec|gosu|exec|env|sh|bash|ash)$/;

/** Of several images (`docker build --target`), those with a wanted name; else all. */
function stagePrograms(stages: Stage[], wanted: string[]): string[] {
  const programs = [...new Set(stages.flatMap((stage) => stageProgram(stage) ?? []))];
  const named = programs.filter((program) => wanted.some((name) => isPart(program, name)));
  return named.length > 0 ? named : programs;
}

/** `webhook` is a part of shop-webhook, but not of webhooks. */
export function isPart(name: string, whole: string): boolean {
  return `-${whole.replaceAll(/[._]/g, '-')}-`.includes(`-${name.replaceAll(/[._]/g, '-')}-`);
}

function stagesOf(text: string): Stage[] {
  const joined = text.replace(/\\\r?\n/g, ' ');
  const variables = buildVariables(joined);
  const stages = joined.split(/^\s*FROM\s/im).slice(1);
  return stages.map((stage) => ({ text: stage, variables }));
}

/** Its ENTRYPOINT, else its CMD. */
function stageProgram(stage: Stage): string | undefined {
  for (const instruction of ['ENTRYPOINT', 'CMD'] as const) {
    const program = programOf(wordsOf(written(stage, instruction)));
    if (program !== undefined) return program;
  }
  return undefined;
}

/** Undefined where there is none, a shell evaluates it, or a variable is not known. */
function stageCommand(stage: Stage): ImageCommand | undefined {
  const [entrypoint, cmd] = [written(stage, 'ENTRYPOINT'), written(stage, 'CMD')];
  const isPlain = (words: string): boolean => words === '' || (words.startsWith('[') && !words.includes('$'));
  if (entrypoint + cmd === '' || !isPlain(entrypoint) || !isPlain(cmd)) return undefined;
  return { entrypoint: wordsOf(entrypoint), cmd: wordsOf(cmd) };
}

/** The last one counts. */
function written({ text, variables }: Stage, instruction: 'ENTRYPOINT' | 'CMD'): string {
  const lines = [...text.matchAll(new RegExp(`^\\s*${instruction}\\s+(.*)$`, 'gim'))];
  return expandKnown(lines.at(-1)?.[1] ?? '', variables).trim();
}

/** `["/manager", "serve"]`, or a line for a shell. */
function wordsOf(line: string): string[] {
  const quoted = [...line.matchAll(/"([^"]*)"/g)].map(([, word]) => word!);
  return line.startsWith('[') ? quoted : line.replaceAll('"', '').split(/\s+/).filter(Boolean);
}
