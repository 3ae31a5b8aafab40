import { cursorIn } from './cursor.ts';
import { aloneIn, createProgram } from './program.ts';
import type { Shell } from './shell.ts';

/** What the shell does besides, as in the completion of kubectl and of other programs that use cobra. */
const FILES = 0;
const NO_SPACE = 2;
const NO_FILES = 4;

/**
 * Prints what can stand at the cursor, one word per line, with what it is about after a tab, and at the end `:` and a number. Shells call this
 * while somebody types, so it prints no error.
 */
export async function complete(words: string[], shell: Shell): Promise<void> {
  if (words.slice(0, -1).includes('--')) return shell.write(`:${FILES}\n`);
  const cursor = cursorIn(words, createProgram(shell, undefined, aloneIn(words.slice(0, -1))));
  const { typed, before, given, live } = cursor;
  const fitting = cursor.words.filter(([word]) => word.startsWith(typed));
  if (live !== undefined) {
    await shell.run({ json: false, restores: false, verbosity: 'quiet', isPatient: true }, async (io) => {
      const { liveValues } = await import('../session/live-values.ts');
      for (const value of await liveValues(live, { typed, given, io })) fitting.push([value]);
    });
  }
  const directive = cursor.isFile
    ? FILES
    : NO_FILES | (fitting.some(([word]) => word.endsWith(':')) ? NO_SPACE : 0);
  const lines = fitting.map(([word, about]) => `${before}${word}${about ? `\t${about}` : ''}`);
  shell.write([...lines, `:${directive}`, ''].join('\n'));
}
