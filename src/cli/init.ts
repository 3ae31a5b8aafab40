import { Command, Option } from 'commander';
import type { DevloopError } from '../errors.ts';
import { DEBUG_PORT, IDES, type Ide } from '../session/context/options.ts';
import { addExamples, outputOptions } from './common.ts';
import type { Shell } from './shell.ts';
import { invalid } from './usage.ts';
import { parsePort } from './values.ts';

interface InitFlags {
  ide?: Ide;
  port: number;
  agents?: true;
  json?: true;
}

export function initCommand(shell: Shell): Command {
  const command = new Command('init')
    .summary('set up the editor, or let coding agents use devloop')
    .description(
      'Writes an editor configuration into the checkout, for attaching to the debugger of `devloop up --debug`: in .vscode/launch.json for VS Code, in .run for GoLand; or tells coding agents of `devloop mcp`, in AGENTS.md, .mcp.json and .vscode/mcp.json. Keeps everything else in these files. If the checkout has a devloop.yaml, also makes its first line name the JSON Schema with which editors complete and check it.',
    )
    .addOption(new Option('--ide <name>', 'which editor').choices(IDES))
    .option('--port <port>', 'the port of the debugger', parsePort, DEBUG_PORT)
    .option('--agents', 'tell coding agents how they use devloop')
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async (flags: InitFlags) => {
      await shell.run(outputOptions(flags), async (io) => {
        const { ide, port, agents } = flags;
        const { init } = await import('../session/init.ts');
        if (!(await init({ ide, port, agents }, io))) throw nothingNamed(shell.name);
      });
    });
  return addExamples(command, `${shell.name} init`, [
    ['--ide vscode', 'Add an attach configuration to .vscode/launch.json'],
    ['--ide goland --port 2346', 'Write a configuration for GoLand, for up --debug=2346'],
    ['', 'Let editors complete and check devloop.yaml'],
    ['--agents', 'Let coding agents start devloop mcp, and say in AGENTS.md how they use it'],
  ]);
}

function nothingNamed(name: string): DevloopError {
  const commands = [...IDES.map((ide) => `--ide ${ide}`), '--agents'].map((flag) => `${name} init ${flag}`);
  return invalid(
    `There is no devloop.yaml here. Name the editor with --ide: ${IDES.join(' or ')}; or use --agents.`,
    commands.join('\n'),
  );
}
