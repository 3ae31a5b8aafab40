import { Argument, Command } from 'commander';
import { addExamples, outputOptions, present } from './common.ts';
import type { Shell } from './shell.ts';

interface ContextFlags {
  context?: string;
  kubeconfig?: string;
  json?: true;
}

export function contextCommand(shell: Shell): Command {
  const command = new Command('context')
    .summary('forget what you have agreed to in a cluster')
    .description(
      'Forgets what you have agreed to in the cluster of a context, so that the next `devloop up` asks again. Needs no cluster.',
    )
    .addArgument(new Argument('<action>', 'what to do').choices(['forget']))
    .option('--context <name>', 'context that the cluster had when you agreed (default: the current context)')
    .option('--kubeconfig <file>', 'kubeconfig with the current context')
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async (_action: 'forget', flags: ContextFlags) => {
      await shell.run(outputOptions(present({ json: flags.json })), async (io) => {
        const { forgetContext } = await import('../session/forget-context.ts');
        await forgetContext(present({ name: flags.context, kubeconfig: flags.kubeconfig }), io);
      });
    });
  return addExamples(command, `${shell.name} context`, [
    ['forget', 'Forget the cluster of the current context'],
    ['forget --context staging', 'Forget the cluster of another context'],
  ]);
}
