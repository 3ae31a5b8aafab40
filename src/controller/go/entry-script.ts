import { basename, join } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import type { ImageFile } from './image-files.ts';
import { expandKnown } from './variables.ts';

/** What has to be known about an image to follow its entry script. */
interface OfImage {
  files: ImageFile[];
  /** The variables of the Dockerfile, including those that ENV sets. */
  variables: Map<string, string>;
}

/**
 * The words that start a container. If one of them is a script of the checkout that starts the program with all of the script's arguments
 * (`exec /manager --a "$@"`), the words of that command replace the script. `program` is the index of the first word that is not a shell or
 * an init program.
 */
export async function throughScript(words: string[], program: number, image: OfImage): Promise<string[]> {
  const file = sourceOf(words[program], image.files);
  const text = file === undefined ? '' : await readTextFile(file);
  if (!SHELL.test(text)) return words;
  const started = startedBy(text, image.variables);
  return started === undefined ? words : words.toSpliced(program, 1, ...started);
}

const SHELL = /^#!.*\b(?:sh|bash|ash|dash)\b/;

/** The checkout's file behind this path in the image; undefined if several files match. */
function sourceOf(word: string | undefined, files: ImageFile[]): string | undefined {
  if (word === undefined) return undefined;
  const named = files.filter(({ to }) => basename(to) === basename(word)).map(({ from }) => from);
  const below = files
    .filter(({ to }) => word.startsWith(`${to}/`))
    .map(({ from, to }) => join(from, word.slice(to.length)));
  const found = new Set([...named, ...below]);
  return found.size === 1 ? [...found][0] : undefined;
}

/** An `exec` that ends with the script's own arguments, whatever the script does before it. */
const EXEC = /^\s*exec\s+(\S.*?)\s+(?:"\$@"|\$@|"\$\{@\}"|\$\*)\s*$/gm;
/** A shell takes words without these characters literally. */
const SPECIAL = /[$`'"\\;&|<>(){}*?#~]/;

function startedBy(script: string, variables: Map<string, string>): string[] | undefined {
  const lines = [...script.replaceAll(/\\\r?\n/g, ' ').matchAll(EXEC)];
  const commands = new Set(lines.map(([, words = '']) => expandKnown(words, variables).trim()));
  const [command = ''] = commands;
  const plain = command.replaceAll(/"([^"$`\\\s]*)"/g, '$1');
  return commands.size !== 1 || SPECIAL.test(plain) ? undefined : plain.split(/\s+/);
}
