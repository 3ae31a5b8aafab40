import { Command } from 'commander';
import {
  addCommonFlags,
  addExamples,
  addRouteFlags,
  type CommonFlags,
  commonOptions,
  outputOptions,
  type RouteFlags,
  routeOptions,
} from './common.ts';
import type { Shell } from './shell.ts';

interface DoctorFlags extends CommonFlags, RouteFlags {}

export function doctorCommand(shell: Shell): Command {
  const command = new Command('doctor')
    .summary('would `up` work here, and if not, why not')
    .description(
      'Checks everything that `up` needs: cluster, rights, target, certificate, the way from the cluster to this machine, toolchain. Each answer comes with its proof and, where something is wrong, with the next command. Nothing of the operator is changed; the way is proven with temporary objects of devloop, which are removed again.',
    );
  addCommonFlags(addRouteFlags(command)).action(async (flags: DoctorFlags) => {
    await shell.run(outputOptions(flags, true), async (io) => {
      const { doctor } = await import('../session/doctor.ts');
      await doctor({ ...commonOptions(flags), ...routeOptions(flags) }, io);
    });
  });
  return addExamples(command, `${shell.name} doctor`, [
    ['', 'Would `up` work from this checkout, in the current context'],
    ['--address 192.168.1.20', 'Does the cluster reach this address of this machine'],
    ['--route ssh:dev@bastion.example.com', 'Does the cluster reach this machine over that host'],
    ['--json', 'For a script: one finding a line; exit code 0 when `up` would work'],
  ]);
}
