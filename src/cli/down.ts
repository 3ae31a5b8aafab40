import { Command } from 'commander';
import type { Given } from '../config/table.ts';
import type { Io } from '../session/context/options.ts';
import {
  addCommonFlags,
  addExamples,
  addTrustFlag,
  type CommonFlags,
  commonOptions,
  outputOptions,
  present,
  type TrustFlags,
} from './common.ts';
import { givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';
import { invalid } from './usage.ts';

interface DownFlags extends CommonFlags, TrustFlags {
  takeOver?: true;
  dryRun?: true;
  embedded?: true;
}

export function downCommand(shell: Shell): Command {
  const command = new Command('down')
    .summary('restore the cluster, from any machine, even after a crash')
    .description(
      'Restores everything that devloop sessions changed in the cluster, and prints what it did. It needs nothing but the labels and annotations on the changed objects, so it works from any machine.',
    )
    .option('--take-over', 'also end live sessions')
    .option(
      '--embedded',
      'without a cluster: end the session of `up --embedded` in this checkout, and remove what it keeps',
    )
    .option('--dry-run', 'print what would change, and stop');
  addCommonFlags(addTrustFlag(command)).action(async (flags: DownFlags) => {
    const { takeOver = false, dryRun = false } = flags;
    await shell.run(outputOptions(flags), async (io) => {
      if (flags.embedded) return await embedded(flags, givenBy('down', flags), io);
      const { down } = await import('../session/down.ts');
      const trust = present({ trustAccounts: flags.trustAccount });
      await down({ ...commonOptions(flags, givenBy('down', flags)), ...trust, takeOver, dryRun }, io);
    });
  });
  return addExamples(command, `${shell.name} down`, [
    ['', 'Restore what a crashed session left behind'],
    ['--dry-run', 'Show what would be restored'],
    ['--embedded', 'Remove what `up --embedded --keep` keeps'],
    ['-n shop-system --take-over', "End a colleague's session in one namespace"],
  ]);
}

async function embedded({ dryRun, takeOver, kubeconfig }: DownFlags, given: Given, io: Io): Promise<void> {
  const [cluster] = Object.keys(given);
  const other = takeOver ? '--take-over' : kubeconfig ? '--kubeconfig' : cluster && `--${cluster}`;
  if (other) throw invalid(`--embedded and ${other} cannot be combined.`, 'devloop down --embedded');
  const { downEmbedded } = await import('../session/embedded-down.ts');
  await downEmbedded({ dryRun: dryRun ?? false }, io);
}
