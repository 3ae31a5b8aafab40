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
  json?: true;
}

export function initCommand(shell: Shell): Command {
  const command = new Command('init')
    .summary('let an editor attach to `up --debug`')
    .description(
      'Writes an editor configuration into the checkout, for attaching to the debugger of `devloop up --debug`: in .vscode/launch.json for VS Code, in .run for GoLand. Keeps everything else in these files. If the checkout has a devloop.yaml, also makes its first line name the JSON Schema with which editors complete and check it.',
    )
    .addOption(new Option('--ide <name>', 'which editor').choices(IDES))
    .option('--port <port>', 'the port of the debugger', parsePort, DEBUG_PORT)
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async (flags: InitFlags) => {
      await shell.run(outputOptions(flags), async (io) => {
        const { ide, port } = flags;
        if (ide === undefined) throw noEditor(shell.name);
        const { init } = await import('../session/init.ts');
        await init({ ide, port }, io);
      });
    });
  return addExamples(command, `${shell.name} init`, [
    ['--ide vscode', 'Add an attach configuration to .vscode/launch.json'],
    ['--ide goland --port 2346', 'Write a configuration for GoLand, for up --debug=2346'],
  ]);
}

function noEditor(name: string): DevloopError {
  const commands = IDES.map((ide) => `${name} init --ide ${ide}`);
  return invalid(`Name the editor with --ide: ${IDES.join(' or ')}.`, commands.join('\n'));
}
