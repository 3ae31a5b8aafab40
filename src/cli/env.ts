import { Command } from 'commander';
import { outputOptions, present } from './common.ts';
import type { Shell } from './shell.ts';

interface EnvFlags {
  existingCluster?: true;
  session?: string;
  json?: true;
}

export function envCommand(shell: Shell): Command {
  const command = new Command('env')
    .summary('print variables with which kubectl and suites use its cluster')
    .description(
      "Prints the variables with which other programs reach the API server of a running session on this machine, for a shell: KUBECONFIG, and KUBEBUILDER_ASSETS if the checkout has envtest's programs. They reach it directly, with the account of the kubeconfig, and not through devloop's proxy. They are valid while the session runs.",
    )
    .option(
      '--existing-cluster',
      'also print USE_EXISTING_CLUSTER=true, so that suites of envtest use that API server (only for sessions of `up --embedded`, because suites delete what they find)',
    )
    .option('--session <id>', 'session on this machine (default: that of this checkout, or the only session)')
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async ({ existingCluster, session, json }: EnvFlags) => {
      await shell.run(outputOptions(present({ json })), async (io) => {
        const { env } = await import('../session/env.ts');
        await env({ existingCluster: existingCluster ?? false, ...present({ session }) }, io);
      });
    });
  return command.addHelpText(
    'after',
    [
      '\nExamples:',
      "  # Use kubectl in the session's API server",
      `  eval "$(${shell.name} env)"`,
      "  # Run the operator's own suite there",
      `  eval "$(${shell.name} env --existing-cluster)" && go test ./internal/...`,
    ].join('\n'),
  );
}
