import { Command, CommanderError } from 'commander';
import { certsCommand } from './certs.ts';
import { commandFirst, lonelyFlag } from './command-first.ts';
import { completionCommand } from './completion.ts';
import { doctorCommand } from './doctor.ts';
import { downCommand } from './down.ts';
import type { Shell } from './shell.ts';
import { statusCommand } from './status.ts';
import { upCommand } from './up.ts';
import { invalid, usageError } from './usage.ts';

const EXIT_CODES = `
Exit codes:
  0 done                          4 held by somebody else, or conflict
  1 a bug of devloop              5 the cluster cannot reach this machine
  2 wrong usage or configuration  6 the controller does not build or start
  3 cluster not reachable,        7 certificate unusable
    or access denied              130 interrupted, and put back`;

/** Runs the command that the arguments name. Rejects with a DevloopError when they are wrong. */
export async function runProgram(args: string[], shell: Shell): Promise<void> {
  const end = args.indexOf('--');
  const own = end < 0 ? undefined : args.slice(end + 1);
  const program = createProgram(shell, own);
  const before = commandFirst(end < 0 ? args : args.slice(0, end), program.commands);
  if (own !== undefined && before[0] !== 'up')
    throw invalid('Only `up` takes a command behind `--`.', `${shell.name} up -- command`);
  if (own?.length === 0) throw invalid('There is no command behind `--`.', `${shell.name} up --help`);
  const lonely = lonelyFlag(before, program.commands);
  if (lonely !== undefined)
    throw invalid(`\`${lonely}\` is a flag of a command, and there is no command.`, `${shell.name} --help`);
  try {
    if (before.length === 0) program.help();
    await program.parseAsync(before, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const known = program.commands.some((command) => command.name() === before[0]);
    if (error.exitCode !== 0) throw usageError(error, `${shell.name}${known ? ` ${before[0]}` : ''} --help`);
  }
}

export function createProgram(shell: Shell, own?: string[]): Command {
  const program = new Command(shell.name)
    .description(
      'Runs a Kubernetes operator on your machine, admission webhooks included, as if it ran in the cluster, and puts the cluster back as it was.',
    )
    .usage('<command> [options]')
    .version(shell.version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help, or that of a command')
    .helpCommand(false)
    .commandsGroup('Take over and put back:')
    .addCommand(upCommand(shell, own))
    .addCommand(downCommand(shell))
    .commandsGroup('Look:')
    .addCommand(statusCommand(shell))
    .addCommand(doctorCommand(shell))
    .commandsGroup('Help yourself:')
    .addCommand(certsCommand(shell));
  program.addCommand(completionCommand(shell, program)).addHelpText('after', EXIT_CODES);
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({ writeOut: shell.write, outputError() {} });
  }
  return program;
}
