import { Command } from 'commander';
import { addExamples, outputOptions, present } from './common.ts';
import type { Shell } from './shell.ts';
import { parseAge, parseCount } from './values.ts';

interface LogsFlags {
  session?: string;
  follow?: true;
  tail?: number;
  since?: number;
  json?: true;
}

export function logsCommand(shell: Shell): Command {
  const command = new Command('logs')
    .summary('print what the controller prints')
    .description(
      "Prints what the controller of this checkout's session has printed, across its restarts, or that of its last session if none runs. The newest 16 MiB are kept on this machine.",
    )
    .option('-f, --follow', 'keep running, and print each new line, until the session ends')
    .option('-n, --tail <lines>', 'print only the last lines', parseCount)
    .option('--since <duration>', 'print only lines of this age, such as 30s, 10m or 2h', parseAge)
    .option('--session <id>', 'session on this machine (default: that of this checkout, or its last one)')
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async ({ session, follow, tail, since, json }: LogsFlags) => {
      const output = { ...outputOptions(present({ json })), ...(follow ? { isPatient: true as const } : {}) };
      await shell.run(output, async (io) => {
        const { logs } = await import('../session/logs.ts');
        await logs({ follow: follow ?? false, ...present({ tail, sinceMs: since, session }) }, io);
      });
    });
  return addExamples(command, `${shell.name} logs`, [
    ['', 'Print everything that is kept'],
    ['-f -n 20', 'Print the last lines, and go on with each new one'],
    ['--since 5m --json', 'Print JSON with the time of each line'],
  ]);
}
