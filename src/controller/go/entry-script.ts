import { basename, join } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import type { ImageFile } from './image-files.ts';
import { expandKnown } from './variables.ts';

/** What a script of the checkout has to do with the command of an image. */
interface OfImage {
  files: ImageFile[];
  /** Of the Dockerfile, among them what ENV sets. */
  variables: Map<string, string>;
}

/**
 * The words that a container is started with, where a script of the checkout among them starts the program with all of its own words
 * (`exec /manager --a "$@"`): then those of the program, in the script's place. `program` is the index of the first word that starts
 * nothing else.
 */
export async function throughScript(words: string[], program: number, image: OfImage): Promise<string[]> {
  const file = sourceOf(words[program], image.files);
  const text = file === undefined ? '' : await readTextFile(file);
  if (!SHELL.test(text)) return words;
  const started = startedBy(text, image.variables);
  return started === undefined ? words : words.toSpliced(program, 1, ...started);
}

const SHELL = /^#!.*\b(?:sh|bash|ash|dash)\b/;

/** Where the checkout has a file of the image; undefined if several can be meant. */
function sourceOf(word: string | undefined, files: ImageFile[]): string | undefined {
  if (word === undefined) return undefined;
  const named = files.filter(({ to }) => basename(to) === basename(word)).map(({ from }) => from);
  const below = files
    .filter(({ to }) => word.startsWith(`${to}/`))
    .map(({ from, to }) => join(from, word.slice(to.length)));
  const found = new Set([...named, ...below]);
  return found.size === 1 ? [...found][0] : undefined;
}

/** With the script's own words at the end, whatever it does before. */
const EXEC = /^\s*exec\s+(\S.*?)\s+(?:"\$@"|\$@|"\$\{@\}"|\$\*)\s*$/gm;
/** Without these, a shell takes words as they are. */
const SPECIAL = /[$`'"\\;&|<>(){}*?#~]/;

function startedBy(script: string, variables: Map<string, string>): string[] | undefined {
  const lines = [...script.replaceAll(/\\\r?\n/g, ' ').matchAll(EXEC)];
  const commands = new Set(lines.map(([, words = '']) => expandKnown(words, variables).trim()));
  const [command = ''] = commands;
  const plain = command.replaceAll(/"([^"$`\\\s]*)"/g, '$1');
  return commands.size !== 1 || SPECIAL.test(plain) ? undefined : plain.split(/\s+/);
}
