import { basename, dirname, join } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import { type BuildRecipe, buildRecipes } from './recipes.ts';
import { buildVariables, expandKnown } from './variables.ts';

/** A Dockerfile of a checkout. */
export interface Dockerfile {
  /** Relative to the root: 'build/webhook.Dockerfile' */
  file: string;
  /** What its own name and its directory's say that it is for: `webhook`. */
  names: string[];
  /** The file names of the programs that its stages run: several where it makes several images. */
  programs: string[];
  recipes: BuildRecipe[];
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
  const own = /^(?:docker|container)file\.?(.*)$|^(.*)\.(?:docker|container)file$/i.exec(basename(file));
  const names = [own?.[1] || own?.[2] || '', basename(dirname(file))];
  return {
    file,
    names: names.filter((name) => name !== '' && !COMMON.has(name)),
    programs: stagePrograms(text, wanted),
    recipes: buildRecipes(text, module),
  };
}

/** The program of a container's command: shells and init programs start another one. */
export function programOf(words: string[]): string | undefined {
  const program = words.map((word) => basename(word)).find((word) => !STARTERS.test(word));
  return program || undefined;
}

const STARTERS = /^(?:-.*|tini|dumb-init|catatonit|su-exec|gosu|exec|env|sh|bash|ash)$/;

/** Of several images (`docker build --target`), those with a wanted name; else all. */
function stagePrograms(text: string, wanted: string[]): string[] {
  const joined = text.replace(/\\\r?\n/g, ' ');
  const variables = buildVariables(joined);
  const stages = joined.split(/^\s*FROM\s/im).slice(1);
  const programs = [...new Set(stages.flatMap((stage) => stageProgram(stage, variables) ?? []))];
  const named = programs.filter((program) => wanted.some((name) => isPart(program, name)));
  return named.length > 0 ? named : programs;
}

/** `webhook` is a part of shop-webhook, but not of webhooks. */
export function isPart(name: string, whole: string): boolean {
  return `-${whole.replaceAll(/[._]/g, '-')}-`.includes(`-${name.replaceAll(/[._]/g, '-')}-`);
}

/** Its ENTRYPOINT, else its CMD. */
function stageProgram(stage: string, variables: Map<string, string>): string | undefined {
  for (const instruction of ['ENTRYPOINT', 'CMD']) {
    const lines = [...stage.matchAll(new RegExp(`^\\s*${instruction}\\s+(.*)$`, 'gim'))];
    const program = programOf(wordsOf(expandKnown(lines.at(-1)?.[1] ?? '', variables)));
    if (program !== undefined) return program;
  }
  return undefined;
}

/** `["/manager", "serve"]`, or a line for a shell. */
function wordsOf(written: string): string[] {
  const quoted = [...written.matchAll(/"([^"]*)"/g)].map(([, word]) => word!);
  return written.trim().startsWith('[') ? quoted : written.trim().replaceAll('"', '').split(/\s+/);
}
