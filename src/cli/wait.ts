import { Command } from 'commander';
import { addExamples, outputOptions, present } from './common.ts';
import type { Shell } from './shell.ts';
import { parseAge } from './values.ts';

interface WaitFlags {
  session?: string;
  timeout?: number;
  json?: true;
}

const TIMEOUT_MS = 300_000;

export function waitCommand(shell: Shell): Command {
  const command = new Command('wait')
    .summary('wait until the newest code serves')
    .description(
      'Waits until the newest code of a running session on this machine serves: all that was saved before is built, and the controller has started and is ready. If the build or the start fails, so does this command, with the error of the compiler or of the controller.',
    );
  return addExamples(withFlags(command, shell, false), `${shell.name} wait`, [
    ['&& kubectl apply -k config/samples', 'Apply the samples with the code that was saved last'],
    ['--timeout 30s', 'Give up after half a minute'],
  ]);
}

export function restartCommand(shell: Shell): Command {
  const command = new Command('restart')
    .summary('build and restart the controller now')
    .description(
      'Builds and restarts the controller of a running session on this machine as a save would, even if nothing has changed, and waits until it serves. Reviews wait while it is replaced.',
    );
  return addExamples(withFlags(command, shell, true), `${shell.name} restart`, [
    ['', 'Restart the controller of this checkout'],
  ]);
}

function withFlags(command: Command, shell: Shell, restarts: boolean): Command {
  return command
    .option(
      '--session <id>',
      'session on this machine (default: the sessions of this checkout, or the only session)',
    )
    .option('--timeout <duration>', 'fail after this time, such as 30s or 10m (default: 5m)', parseAge)
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async ({ session, timeout = TIMEOUT_MS, json }: WaitFlags) => {
      await shell.run(outputOptions(present({ json })), async (io) => {
        const { wait } = await import('../session/wait.ts');
        await wait({ limitMs: timeout, restarts, ...present({ session }) }, io);
      });
    });
}
