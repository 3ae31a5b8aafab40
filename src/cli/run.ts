import type { Typed } from './next-commands.ts';
import { PLAIN_LIST, runReviews } from './run-reviews.ts';
import type { Shell } from './shell.ts';

/**
 * Runs the command that the arguments name, after `onTyped`. Rejects with a DevloopError when they are wrong. A list without flags needs
 * no parser, and to load commander takes as long as to find the session and to read its recording.
 */
export async function runCommand(
  args: string[],
  shell: Shell,
  onTyped: (typed: Typed) => void,
): Promise<void> {
  const [command, action = 'list', ...more] = args;
  if (command === 'reviews' && action === 'list' && more.length === 0) {
    onTyped({ name: shell.name, command, flags: [], hasWords: args.length > 1, own: [] });
    return await runReviews(PLAIN_LIST, { json: false, restores: false, verbosity: 'normal' }, shell);
  }
  const { runProgram } = await import('./program.ts');
  await runProgram(args, shell, onTyped);
}
