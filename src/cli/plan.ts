import { Command } from 'commander';
import { addCommonFlags, addExamples, type CommonFlags, commonOptions, outputOptions } from './common.ts';
import { addSettingFlags, givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';
import { parseSeconds } from './values.ts';

interface PlanFlags extends CommonFlags {
  quietSeconds?: number;
  limitSeconds: number;
  network?: true;
  against?: string;
}

const LIMIT_SECONDS = 120;

export function planCommand(shell: Shell): Command {
  const command = new Command('plan')
    .summary('show what the new code would write, and write nothing')
    .description(
      "Builds and runs the checkout's controller against the cluster, with every write as a dry run: the API server answers as it would, and stores nothing. Prints what the controller would create, change and delete. Takes nothing over; the in-cluster manager goes on, and answers the webhooks. The exit code is 0 without changes, and 8 with changes; with --against, 8 if the plans differ.",
    )
    .option(
      '--quiet-seconds <n>',
      'the plan is complete when the controller has asked for nothing new for so long (default: 5; 2 if it reports its reconciles, and none is left to do)',
      parseSeconds,
    )
    .option('--limit-seconds <n>', 'stop after this time in any case', parseSeconds, LIMIT_SECONDS)
    .option(
      '--against <revision>',
      'also plan this git revision, and print only what the two plans do not have in common',
    )
    .option(
      '--network',
      'let the controller use the network of this machine; by default it reaches nothing but the API server, which only Linux allows',
    );
  addCommonFlags(addSettingFlags(command, 'others')).action(async (flags: PlanFlags) => {
    await shell.run(outputOptions(flags), async (io) => {
      const { plan } = await import('../session/plan.ts');
      const { quietSeconds, limitSeconds, network = false, against } = flags;
      const common = commonOptions(flags, givenBy('plan', flags));
      await plan({ ...common, quietSeconds, limitSeconds, network, against }, io);
    });
  });
  return addExamples(command, `${shell.name} plan`, [
    ['', 'What would the code of this checkout change in the cluster?'],
    ['--against main', 'What would it do that the code of main does not, and the other way round?'],
    ['--identity me', 'The same, with your own permissions'],
    ['--json', 'Print one JSON event per write'],
  ]);
}
