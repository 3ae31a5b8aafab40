import { Argument, Command } from 'commander';
import type { Shell } from './shell.ts';

export function completionCommand(shell: Shell): Command {
  return new Command('completion')
    .summary('print a shell completion script')
    .description(
      'Prints a script that lets a shell complete commands, flags and their values: contexts, namespaces, Services and Deployments of the cluster, sessions, and what they have recorded. What is not found within 0.3 s is left out; a context that needs a login is not asked.',
    )
    .helpOption('-h, --help', 'show this help')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
Examples:
  # bash, in ~/.bashrc
  source <(devloop completion bash)
  # zsh, into a directory in $fpath
  devloop completion zsh > ~/.zsh/completions/_devloop
  # fish
  devloop completion fish > ~/.config/fish/completions/devloop.fish`,
    )
    .action(async (wanted: 'bash' | 'zsh' | 'fish') => {
      const { SCRIPTS } = await import('./completion-scripts.ts');
      shell.write(SCRIPTS[wanted]);
    });
}
