import { Command } from 'commander';
import { addExamples, outputOptions, present } from './common.ts';
import type { Shell } from './shell.ts';

interface HoldFlags {
  session?: string;
  json?: true;
}

export function holdCommand(shell: Shell): Command {
  const command = new Command('hold')
    .summary('make the reviews of a session wait')
    .description(
      'Makes the reviews of a running session on this machine wait, until `devloop release` forwards them. Shortly before the timeout of a review, devloop answers it according to --on-timeout of `devloop up`.',
    );
  return addExamples(withSession(command, shell, true), `${shell.name} hold`, [
    ['', 'Hold the reviews of the session of this checkout'],
    ['--session 3f2a91c0', 'Hold those of another session on this machine'],
  ]);
}

export function releaseCommand(shell: Shell): Command {
  const command = new Command('release')
    .summary('forward the held reviews')
    .description('Forwards the reviews that are held by `devloop hold` or the key h, and all later ones.');
  return addExamples(withSession(command, shell, false), `${shell.name} release`, [
    ['', 'Forward the reviews of the session of this checkout'],
  ]);
}

function withSession(command: Command, shell: Shell, on: boolean): Command {
  return command
    .option(
      '--session <id>',
      'session on this machine (default: the sessions of this checkout, or the only session)',
    )
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async (flags: HoldFlags) => {
      await shell.run(outputOptions(flags), async (io) => {
        const { hold } = await import('../session/hold.ts');
        await hold({ on, ...present({ session: flags.session }) }, io);
      });
    });
}
