import type { Typed } from './next-commands.ts';
import { PLAIN_LIST, runReviews } from './run-reviews.ts';
import type { Shell } from './shell.ts';

/**
 * Calls `onTyped`, and then runs the command that the arguments name. Rejects with a DevloopError if the arguments are wrong. A plain
 * `reviews list` runs without commander, because loading commander takes as long as finding the session and reading its recording.
 * `__complete -- WORDS...` is what the scripts of `devloop completion` call.
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
  if (command === '__complete') {
    const { complete } = await import('./complete.ts');
    return await complete(args.slice(args.indexOf('--') + 1), shell);
  }
  const { runProgram } = await import('./program.ts');
  await runProgram(args, shell, onTyped);
}
