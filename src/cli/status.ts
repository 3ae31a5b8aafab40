import { Command } from 'commander';
import { addCommonFlags, addExamples, type CommonFlags, commonOptions, outputOptions } from './common.ts';
import { givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';

interface StatusFlags extends CommonFlags {
  watch?: true;
}

export function statusCommand(shell: Shell): Command {
  const command = new Command('status')
    .summary('show who has taken over what, since when, by which route')
    .description(
      'Lists the sessions that hold operators of this cluster: who, since when, by which route, live or stale, and which objects have to be restored. The exit code is 0 even if a session is stale: scripts should read `state` in the output of --json.',
    )
    .option('--watch', 'keep running, and print every change');
  addCommonFlags(command).action(async (flags: StatusFlags) => {
    await shell.run(outputOptions(flags), async (io) => {
      const { status } = await import('../session/status.ts');
      await status({ ...commonOptions(flags, givenBy('status', flags)), watch: flags.watch ?? false }, io);
    });
  });
  return addExamples(command, `${shell.name} status`, [
    ['', 'List every session in the cluster'],
    ['-n shop-system --watch', 'Follow the sessions of one namespace'],
    ['--json', 'Print JSON for a script'],
  ]);
}
