import { Command } from 'commander';
import type { UpOptions } from '../session/context/options.ts';
import {
  addCommonFlags,
  addExamples,
  addRouteFlags,
  type CommonFlags,
  commonOptions,
  outputOptions,
  present,
  type RouteFlags,
  routeOptions,
} from './common.ts';
import type { Shell } from './shell.ts';
import { invalid } from './usage.ts';

interface UpFlags extends CommonFlags, RouteFlags {
  controller: boolean;
  takeOver?: true;
  dryRun?: true;
}

/** `own` is the controller's command, from behind `--`. */
export function upCommand(shell: Shell, own: string[] | undefined): Command {
  const command = new Command('up')
    .summary('run the operator here, in place of the one in the cluster')
    .description(
      'Takes the operator over: its webhooks lead to this machine, its Deployment is quiet, and the controller is built and run here, again after every change. Ctrl-C puts everything back.',
    )
    .usage('[options] [-- command...]')
    .option('--no-controller', 'build and run nothing; reviews go to a process that you start')
    .option('--take-over', 'take over although a live session holds the operator')
    .option('--dry-run', 'show what would change and stop');
  addCommonFlags(addRouteFlags(command)).action(async (flags: UpFlags) => {
    const options = upOptions(flags, own, shell.name);
    await shell.run(outputOptions(flags, !options.dryRun), async (io) => {
      const { up } = await import('../session/up.ts');
      await up(options, io);
    });
  });
  return addExamples(command, `${shell.name} up`, [
    ['', 'Everything is discovered from this checkout and the current context'],
    ['--dry-run', 'What would be changed in the cluster'],
    ['-n shop-system -- go run ./cmd/manager --zap-devel', 'With a command of your own for the controller'],
    ['--route ssh:dev@bastion.example.com', 'The reviews come over an SSH host that the cluster reaches'],
    ['--no-controller', 'The controller runs in the debugger of your editor'],
  ]);
}

function upOptions(flags: UpFlags, own: string[] | undefined, name: string): UpOptions {
  const { controller, takeOver = false, dryRun = false } = flags;
  if (own !== undefined && !controller) {
    throw invalid('With --no-controller there is no command to run.', `${name} up --no-controller`);
  }
  return {
    ...commonOptions(flags),
    ...routeOptions(flags),
    ...present({ command: own }),
    controller,
    takeOver,
    dryRun,
  };
}
