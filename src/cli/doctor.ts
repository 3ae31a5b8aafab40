import { Command } from 'commander';
import {
  addCommonFlags,
  addExamples,
  addPackageFlag,
  addPauseFlags,
  addRouteFlags,
  type CommonFlags,
  commonOptions,
  outputOptions,
  type PauseFlags,
  type ProgramFlags,
  pauseOptions,
  present,
  type RouteFlags,
  routeOptions,
} from './common.ts';
import type { Shell } from './shell.ts';

interface DoctorFlags extends CommonFlags, RouteFlags, PauseFlags, ProgramFlags {}

export function doctorCommand(shell: Shell): Command {
  const command = new Command('doctor')
    .summary('check whether `up` would work here')
    .description(
      'Checks everything that `up` needs: cluster, permissions, target, certificate, the routes from the cluster to this machine, and the toolchain. Prints the evidence for each result and, where something is wrong, the next command. Leaves the operator unchanged; to verify a route, it creates temporary objects and deletes them again.',
    );
  addCommonFlags(addRouteFlags(addPauseFlags(addPackageFlag(command)))).action(async (flags: DoctorFlags) => {
    await shell.run(outputOptions(flags, true), async (io) => {
      const { doctor } = await import('../session/doctor.ts');
      const own = { ...pauseOptions(flags, `${shell.name} doctor`), ...present({ package: flags.package }) };
      await doctor({ ...commonOptions(flags), ...routeOptions(flags), ...own }, io);
    });
  });
  return addExamples(command, `${shell.name} doctor`, [
    ['', 'Check this checkout against the current context'],
    ['--address 192.168.1.20', 'Check whether the cluster can reach this address'],
    ['--route ssh:dev@bastion.example.com', 'Check the route through an SSH host'],
    ['--json', 'Print JSON for a script; the exit code is 0 when `up` would work'],
  ]);
}
