import { Command } from 'commander';
import { addCommonFlags, addExamples, type CommonFlags, commonOptions, outputOptions } from './common.ts';
import type { Shell } from './shell.ts';

interface DownFlags extends CommonFlags {
  takeOver?: true;
  dryRun?: true;
}

export function downCommand(shell: Shell): Command {
  const command = new Command('down')
    .summary('put everything back, from any machine, also after a crash')
    .description(
      'Undoes every change that sessions of devloop left in the cluster, and says what it did. The marks on the objects are all it needs, so it works from any machine.',
    )
    .option('--take-over', 'also end a session that is alive')
    .option('--dry-run', 'show what would change and stop');
  addCommonFlags(command).action(async (flags: DownFlags) => {
    const { takeOver = false, dryRun = false } = flags;
    await shell.run(outputOptions(flags), async (io) => {
      const { down } = await import('../session/down.ts');
      await down({ ...commonOptions(flags), takeOver, dryRun }, io);
    });
  });
  return addExamples(command, `${shell.name} down`, [
    ['', 'Put back what a crashed session left'],
    ['--dry-run', 'What would be put back'],
    ['-n shop-system --take-over', "End a colleague's session in one namespace"],
  ]);
}
