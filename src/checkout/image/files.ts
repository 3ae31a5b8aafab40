import { stat } from 'node:fs/promises';
import { basename, join, normalize, resolve } from 'node:path/posix';
import type { ImageFile } from '../language.ts';
import { expandKnown } from '../make/variables.ts';

/** One stage of a Dockerfile: its text after the word FROM. */
export interface Stage {
  text: string;
  variables: Map<string, string>;
}

/** The files that a stage contains from the build context; `from` is relative to the context. */
interface Contents {
  directory: string;
  files: ImageFile[];
}

/**
 * The files of the checkout in each stage. The build context is usually the root of the checkout; `contexts` are the directories that are
 * tried.
 */
export async function imageFiles(stages: Stage[], contexts: string[]): Promise<ImageFile[][]> {
  const named = new Map<string, Contents>();
  const all: ImageFile[][] = [];
  for (const [index, { text, variables }] of stages.entries()) {
    const { base, name } = stageHead(text);
    const lines = text.split('\n').slice(1);
    const parent = named.get(base);
    const contents = { directory: parent?.directory ?? '/', files: [...(parent?.files ?? [])] };
    for (const line of lines) await follow(line, contents, { variables, named, contexts });
    for (const key of [String(index), name]) if (key !== undefined) named.set(key, contents);
    all.push(await onThisMachine(contents, contexts));
  }
  return all;
}

/** The base of a stage, and the stage's own name: in lower case, since other stages can write them in any case. */
export function stageHead(text: string): { base: string; name: string | undefined } {
  const [head = ''] = text.split('\n');
  const [, base = '', name] = /^\s*(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?/i.exec(head) ?? [];
  return { base: base.toLowerCase(), name: name?.toLowerCase() };
}

const INSTRUCTION = /^\s*(WORKDIR|COPY|ADD)\s+(.*?)\s*$/i;

interface Build {
  variables: Map<string, string>;
  named: ReadonlyMap<string, Contents>;
  contexts: string[];
}

async function follow(line: string, contents: Contents, build: Build): Promise<void> {
  const [, instruction = '', written = ''] = INSTRUCTION.exec(line) ?? [];
  if (instruction === '') return;
  const words = expandKnown(written.replaceAll(/^\[|\]$|[",]/g, ' '), build.variables)
    .trim()
    .split(/\s+/);
  if (words.some((word) => word.includes('$'))) return;
  if (instruction.toUpperCase() === 'WORKDIR') contents.directory = resolve(contents.directory, words[0]!);
  else await copy(words, contents, build);
}

async function copy(words: string[], contents: Contents, { named, contexts }: Build): Promise<void> {
  const flags = words.filter((word) => word.startsWith('--'));
  const paths = words.filter((word) => !flags.includes(word) && !/[*?[]/.test(word));
  const stage = flags.find((flag) => flag.startsWith('--from='))?.slice('--from='.length);
  const to = paths.pop();
  if (to === undefined) return;
  for (const path of paths) {
    const from = stage === undefined ? ofContext(path) : ofStage(path, named.get(stage.toLowerCase()));
    const found = from === undefined ? undefined : await find(from, contexts);
    if (from === undefined || found === undefined) continue;
    // COPY copies the contents of a directory, not the directory itself.
    const isInto = !found.isDirectory && (paths.length > 1 || /(?:^|\/)\.?$/.test(to));
    contents.files.push({ from, to: resolve(contents.directory, to, isInto ? basename(from) : '.') });
  }
}

function ofContext(path: string): string | undefined {
  const inside = normalize(`./${path}`).replace(/\/$/, '');
  return inside.startsWith('..') ? undefined : inside;
}

/** The last file that was copied to a place counts. */
function ofStage(path: string, contents: Contents | undefined): string | undefined {
  if (contents === undefined) return undefined;
  const place = resolve(contents.directory, path);
  const whole = contents.files.findLast(
    ({ to }) => place === to || place.startsWith(to === '/' ? to : `${to}/`),
  );
  return whole && ofContext(join(whole.from, place.slice(whole.to.length)));
}

async function find(
  path: string,
  contexts: string[],
): Promise<{ place: string; isDirectory: boolean } | undefined> {
  for (const context of contexts) {
    const place = join(context, path);
    const found = await stat(place).catch(() => undefined);
    if (found) return { place, isDirectory: found.isDirectory() };
  }
  return undefined;
}

async function onThisMachine({ files }: Contents, contexts: string[]): Promise<ImageFile[]> {
  const last = new Map(files.map(({ from, to }) => [to, from]));
  const found = [...last].map(async ([to, from]) => {
    const place = (await find(from, contexts))?.place;
    return place === undefined || to === '/' ? [] : [{ from: place, to }];
  });
  return (await Promise.all(found)).flat();
}
