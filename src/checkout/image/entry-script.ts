import { basename, join } from 'node:path';
import type { Checkout } from '../files.ts';
import type { ImageFile } from '../language.ts';
import { expandKnown } from '../make/variables.ts';
import { isShell } from './started-words.ts';

/** What has to be known about an image to follow its entry script. */
interface OfImage {
  checkout: Checkout;
  files: ImageFile[];
  /** The variables of the Dockerfile, including those that ENV sets. */
  variables: Map<string, string>;
}

/**
 * The words that a container's program gets if these words start it through a script of the checkout with all of the script's arguments
 * (`exec /manager --a "$@"`): that command, in place of the script. Undefined if they name no such script.
 */
export function throughScript(words: string[], image: OfImage): string[] | undefined {
  const [script, ...rest] = isShell(words[0] ?? '') ? words.slice(1) : words;
  const file = sourceOf(script, image.files);
  const text = file === undefined ? '' : image.checkout.text(file);
  const started = SHELL.test(text) ? startedBy(text, image.variables) : undefined;
  return started && [...started, ...rest];
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
