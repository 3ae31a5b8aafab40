import { Command } from 'commander';
import { addCommonFlags, addExamples, type CommonFlags, commonOptions, outputOptions } from './common.ts';
import { addSettingFlags, givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';

interface CertsFlags extends CommonFlags {
  watch?: true;
}

export function certsCommand(shell: Shell): Command {
  const command = new Command('certs')
    .summary("copy the webhook's key pair to where the controller looks for it")
    .description(
      "Copies the webhook's certificate and key from their Secret to a directory, for a controller that you start yourself. Changes nothing in the cluster.",
    )
    .option('--watch', 'keep running, and write every renewal');
  addCommonFlags(addSettingFlags(command, 'others')).action(async (flags: CertsFlags) => {
    const { watch = false } = flags;
    await shell.run({ ...outputOptions(flags), isPatient: true }, async (io) => {
      const { certs } = await import('../session/certs.ts');
      await certs({ ...commonOptions(flags, givenBy('certs', flags)), watch }, io);
    });
  });
  return addExamples(command, `${shell.name} certs`, [
    ['', "Write to controller-runtime's default directory"],
    ['--output ./certs --watch', 'Write to a directory of your own and keep it up to date'],
    ['--service shop-system/webhook-service', 'Choose the webhook Service'],
  ]);
}
