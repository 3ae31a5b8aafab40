import { Command } from 'commander';
import { addCommonFlags, addExamples, type CommonFlags, commonOptions, outputOptions } from './common.ts';
import type { Shell } from './shell.ts';

interface StatusFlags extends CommonFlags {
  watch?: true;
}

export function statusCommand(shell: Shell): Command {
  const command = new Command('status')
    .summary('who has taken over what, since when, through which route')
    .description(
      'Shows the sessions that hold operators of the cluster: who, since when, through which route, alive or not, and the objects that they changed.',
    )
    .option('--watch', 'go on, and show every change');
  addCommonFlags(command).action(async (flags: StatusFlags) => {
    await shell.run(outputOptions(flags), async (io) => {
      const { status } = await import('../session/status.ts');
      await status({ ...commonOptions(flags), watch: flags.watch ?? false }, io);
    });
  });
  return addExamples(command, `${shell.name} status`, [
    ['', 'Every session in the cluster'],
    ['-n shop-system --watch', 'Follow the sessions of one namespace'],
    ['--json', 'For a script'],
  ]);
}
