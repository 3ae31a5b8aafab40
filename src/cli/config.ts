import { Command } from 'commander';
import { addExamples, outputOptions, present } from './common.ts';
import { FLAG_GROUPS } from './flag-groups.ts';
import { addSettingFlags, givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';

interface ConfigFlags {
  schema?: true;
  json?: true;
}

export function configCommand(shell: Shell): Command {
  const command = new Command('config')
    .summary('print the settings of this checkout, and where each comes from')
    .description(
      'Prints every setting as `up` would use it with these flags, and whether it comes from a flag, an environment variable, devloop.yaml or its default. Hides the values of controller.env. Needs no cluster.',
    )
    .option('--schema', 'print the JSON Schema of devloop.yaml instead');
  addSettingFlags(addSettingFlags(command, 'others'), 'of the cluster')
    .optionsGroup(FLAG_GROUPS.output)
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async (flags: ConfigFlags) => {
      if (flags.schema) {
        const { jsonSchema } = await import('../config/json-schema.ts');
        shell.write(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
        return;
      }
      await shell.run(outputOptions(present({ json: flags.json })), async (io) => {
        const { showSettings } = await import('../session/config.ts');
        await showSettings(givenBy('up', flags), io);
      });
    });
  return addExamples(command, `${shell.name} config`, [
    ['', 'Print what `up` would use in this checkout'],
    ['--route relay', 'See what a flag replaces'],
    ['--json', 'Print JSON for a script'],
    ['--schema > devloop.schema.json', 'Write the JSON Schema for an editor'],
  ]);
}
