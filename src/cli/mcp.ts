import { Command } from 'commander';
import { ownCommand } from '../machine/own-program.ts';
import { addExamples } from './common.ts';
import { withNextCommands } from './next-commands.ts';
import type { Shell } from './shell.ts';

export function mcpCommand(shell: Shell): Command {
  const command = new Command('mcp')
    .summary('serve coding agents over the Model Context Protocol')
    .description(
      'Serves the Model Context Protocol on stdin and stdout: coding agents start it, and use the commands of devloop as tools. It starts and ends only sessions of `up --embedded`. `devloop init --agents` tells the agents of a checkout about it. It ends when its client is gone, and the session that it has started ends with it.',
    )
    .helpOption('-h, --help', 'show this help')
    .action(async () => {
      const output = { json: false, restores: false, verbosity: 'quiet', isPatient: true } as const;
      await shell.run(output, async (io) => {
        const { serveMcp } = await import('../mcp/server.ts');
        const { name, version, write } = shell;
        const typed = { name, flags: [], hasWords: true, own: [] };
        await serveMcp(
          {
            ...{ version, program: ownCommand(), stdio: { stdin: process.stdin, write } },
            complete: (event, command) => withNextCommands(event, { ...typed, command }, {}),
          },
          io,
        );
      });
    });
  return addExamples(command, `${shell.name} mcp`, [['', 'What a client runs']]);
}
