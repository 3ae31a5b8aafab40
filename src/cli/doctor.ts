import { Command } from 'commander';
import {
  addCommonFlags,
  addExamples,
  type CommonFlags,
  commonOptions,
  outputOptions,
  requireFittingPause,
} from './common.ts';
import { addSettingFlags, givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';

export function doctorCommand(shell: Shell): Command {
  const command = new Command('doctor')
    .summary('check whether `up` would work here')
    .description(
      'Checks everything that `up` needs: cluster, permissions, target, certificate, the routes from the cluster to this machine, and the toolchain. Prints the evidence for each result and, where something is wrong, the next command. Leaves the operator unchanged; to verify a route, it creates temporary objects and deletes them again, if you have agreed to changes in the cluster, or name its context.',
    );
  addCommonFlags(addSettingFlags(command, 'others')).action(async (flags: CommonFlags) => {
    await shell.run(outputOptions(flags, true), async (io) => {
      const { doctor } = await import('../session/doctor.ts');
      const given = givenBy('doctor', flags);
      requireFittingPause(given, `${shell.name} doctor`);
      await doctor(commonOptions(flags, given), io);
    });
  });
  return addExamples(command, `${shell.name} doctor`, [
    ['', 'Check this checkout against the current context'],
    ['--context staging', 'Also verify the routes in a cluster that you have not agreed to before'],
    ['--address 192.168.1.20', 'Check whether the cluster can reach this address'],
    ['--route ssh:dev@bastion.example.com', 'Check the route through an SSH host'],
    ['--json', 'Print JSON for a script; the exit code is 0 when `up` would work'],
  ]);
}
