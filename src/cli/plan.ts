import { Command } from 'commander';
import { addCommonFlags, addExamples, type CommonFlags, commonOptions, outputOptions } from './common.ts';
import { addSettingFlags, givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';
import { parseSeconds } from './values.ts';

interface PlanFlags extends CommonFlags {
  quietSeconds: number;
  limitSeconds: number;
}

const QUIET_SECONDS = 5;
const LIMIT_SECONDS = 120;

export function planCommand(shell: Shell): Command {
  const command = new Command('plan')
    .summary('show what the new code would write, and write nothing')
    .description(
      "Builds and runs the checkout's controller against the cluster, with every write as a dry run: the API server answers as it would, and stores nothing. Prints what the controller would create, change and delete. Takes nothing over; the in-cluster manager goes on, and answers the webhooks. The exit code is 0 without changes, and 8 with changes.",
    )
    .option(
      '--quiet-seconds <n>',
      'the plan is complete when the controller has asked for nothing new for so long',
      parseSeconds,
      QUIET_SECONDS,
    )
    .option('--limit-seconds <n>', 'stop after this time in any case', parseSeconds, LIMIT_SECONDS);
  addCommonFlags(addSettingFlags(command, 'others')).action(async (flags: PlanFlags) => {
    await shell.run(outputOptions(flags, true), async (io) => {
      const { plan } = await import('../session/plan.ts');
      const { quietSeconds, limitSeconds } = flags;
      const common = commonOptions(flags, givenBy('plan', flags));
      await plan({ ...common, quietSeconds, limitSeconds }, io);
    });
  });
  return addExamples(command, `${shell.name} plan`, [
    ['', 'What would the code of this checkout change in the cluster?'],
    ['--identity me', 'The same, with your own permissions'],
    ['--json', 'Print one JSON event per write'],
  ]);
}
