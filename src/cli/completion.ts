import { Argument, Command, type Option } from 'commander';
import { CALLS_ACTIONS } from './calls.ts';
import type { Described, DescribedFlag } from './completion-scripts.ts';
import { FAULT_ACTIONS } from './fault.ts';
import { REVIEWS_ACTIONS } from './reviews.ts';
import type { Shell } from './shell.ts';

export function completionCommand(shell: Shell, program: Command): Command {
  return new Command('completion')
    .summary('print a shell completion script')
    .description('Prints a script that lets a shell complete the commands and flags of devloop.')
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
      const scripts = await import('./completion-scripts.ts');
      shell.write(scripts[wanted](program.commands.map((command) => describe(command))));
    });
}

/** The first arguments of commands for which commander has no list of choices, because other kinds of arguments follow. */
const FIRST_WORDS: Record<string, readonly string[]> = {
  reviews: REVIEWS_ACTIONS,
  calls: CALLS_ACTIONS,
  reconciles: CALLS_ACTIONS,
  fault: FAULT_ACTIONS,
};

function describe(command: Command): Described {
  return {
    name: command.name(),
    about: command.summary(),
    words: [
      ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
      ...(FIRST_WORDS[command.name()] ?? []),
    ],
    takesCommand: command.usage().includes('-- '),
    flags: command
      .createHelp()
      .visibleOptions(command)
      .map((option) => describeFlag(option)),
  };
}

function describeFlag({ long, short, description, flags, required, argChoices }: Option): DescribedFlag {
  const takes = required ? takenBy(flags) : 'nothing';
  return { long: long ?? '', short, about: description, takes, choices: argChoices ?? [] };
}

function takenBy(flags: string): DescribedFlag['takes'] {
  if (flags.includes('<route>')) return 'route';
  return /<(file|dir)>/.test(flags) ? 'file' : 'value';
}
