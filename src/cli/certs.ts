import { Command } from 'commander';
import {
  addCommonFlags,
  addExamples,
  type CommonFlags,
  commonOptions,
  outputOptions,
  present,
} from './common.ts';
import type { Shell } from './shell.ts';

interface CertsFlags extends CommonFlags {
  watch?: true;
  output?: string;
}

export function certsCommand(shell: Shell): Command {
  const command = new Command('certs')
    .summary("fetch the webhook's key pair to where the controller looks for it")
    .description(
      "Writes the webhook's certificate and key from their Secret to a directory, so that a controller that you start yourself can serve with them. Changes nothing in the cluster.",
    )
    .option('--output <dir>', 'where to write (default: where the controller looks)')
    .option('--watch', 'go on, and write every renewal');
  addCommonFlags(command).action(async (flags: CertsFlags) => {
    const { watch = false, output } = flags;
    await shell.run(outputOptions(flags), async (io) => {
      const { certs } = await import('../session/certs.ts');
      await certs({ ...commonOptions(flags), ...present({ output }), watch }, io);
    });
  });
  return addExamples(command, `${shell.name} certs`, [
    ['', 'To where controller-runtime looks by default'],
    ['--output ./certs --watch', 'To a directory of your own, kept fresh'],
    ['--service shop-system/webhook-service', 'Of a Service that you name'],
  ]);
}
