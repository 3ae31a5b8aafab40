import { Command, CommanderError, Help, type Option } from 'commander';
import { EXIT_CODES } from '../errors.ts';
import { callsCommand, reconcilesCommand, timelineCommand } from './calls.ts';
import { certsCommand } from './certs.ts';
import { suggestChoices } from './choices.ts';
import { completionCommand } from './completion.ts';
import { configCommand } from './config.ts';
import { contextCommand } from './context.ts';
import { crashtestCommand } from './crashtest.ts';
import { doctorCommand } from './doctor.ts';
import { downCommand } from './down.ts';
import { envCommand } from './env.ts';
import { faultCommand } from './fault.ts';
import { holdCommand, releaseCommand } from './hold.ts';
import { initCommand } from './init.ts';
import { logsCommand } from './logs.ts';
import { mcpCommand } from './mcp.ts';
import { type Typed, typedFlags } from './next-commands.ts';
import { planCommand } from './plan.ts';
import { rbacCommand } from './rbac.ts';
import { reviewsCommand } from './reviews.ts';
import type { Shell } from './shell.ts';
import { statusCommand } from './status.ts';
import { endOfTest, testCommand } from './test.ts';
import { upCommand } from './up.ts';
import { invalid, noRun, usageError, waysToRun } from './usage.ts';
import { restartCommand, waitCommand } from './wait.ts';

/** The width of the help when it is not printed to a terminal. */
const HELP_COLUMNS = 80;

/** All commands fit on a screen: those that most people need with what they do, and the others by their names. */
function configureHelp(program: Command, shell: Shell): void {
  program.configureHelp({
    subcommandTerm: (command) => command.name(),
    formatHelp(command, helper) {
      const all = helper.visibleCommands(command);
      helper.visibleCommands = () => all.filter((one) => one.helpGroup() !== MORE);
      return Help.prototype.formatHelp.call(helper, command, helper);
    },
  });
  program.addHelpText('after', () => {
    const more = program.commands.filter((one) => one.helpGroup() === MORE).map((one) => one.name());
    const codes = Object.entries(EXIT_CODES).map(([code, text]) => `${code} ${text.split(/[,;]/, 1)[0]}`);
    return [
      ...[
        '',
        MORE,
        ...inLines(`${more.sort().join(', ')}; \`${shell.name} help COMMAND\` shows what each does`),
      ],
      ...['', 'Exit codes (docs/errors.md says more):', ...inLines(codes.join('; '))],
    ].join('\n');
  });
  const inLines = (text: string): string[] =>
    program
      .createHelp()
      .boxWrap(text, (shell.columns ?? HELP_COLUMNS) - INDENT.length)
      .split('\n')
      .map((line) => INDENT + line);
}

const INDENT = '  ';

/** Calls `onTyped`, and then runs the command that the arguments name. Rejects with a DevloopError if the arguments are wrong. */
export async function runProgram(
  args: string[],
  shell: Shell,
  onTyped: (typed: Typed) => void = () => {},
): Promise<void> {
  const end = args.indexOf('--');
  const own = end < 0 ? undefined : args.slice(end + 1);
  const program = createProgram(shell, own, aloneIn(args));
  const words = commandFirst(end < 0 ? args : args.slice(0, end), program.commands);
  try {
    requireFitting(words, own, { shell, program });
    onTyped(typedCommand(program, words, own));
    await parse(words, { shell, program });
  } catch (error) {
    throw words[0] === 'test' ? endOfTest(error) : error;
  }
}

interface Parts {
  shell: Shell;
  program: Command;
}

/** Throws `usage.invalid` for what commander would not understand. */
function requireFitting(words: string[], own: string[] | undefined, { shell, program }: Parts): void {
  const [command = ''] = words;
  // Several other tools have it.
  if (command === 'run') throw noRun(shell.name, own);
  if (own !== undefined && !['up', 'test', 'crashtest'].includes(command))
    throw invalid('Only `up`, `test` and `crashtest` take a command after `--`.', waysToRun(shell.name, own));
  if (own?.length === 0)
    throw invalid('`--` must be followed by a command.', `${shell.name} ${command} --help`);
  const lonely = lonelyFlag(words, program.commands);
  if (lonely !== undefined) throw invalid(`\`${lonely}\` needs a command.`, `${shell.name} --help`);
}

async function parse(words: string[], { shell, program }: Parts): Promise<void> {
  try {
    if (words.length === 0) program.help();
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const known = program.commands.some((command) => command.name() === words[0]);
    if (error.exitCode !== 0) throw usageError(error, `${shell.name}${known ? ` ${words[0]}` : ''}`);
  }
}

function typedCommand(program: Command, [command = '', ...words]: string[], own: string[] = []): Typed {
  const options = program.commands.find((one) => one.name() === command)?.options ?? [];
  return { name: program.name(), command, ...typedFlags(words, options), own };
}

type Create = (shell: Shell, own?: string[]) => Command;

/** The group of the commands of which the help lists only the names. */
const MORE = 'More commands:';

/** The commands by their groups in the help, in the order of the help. */
const COMMANDS: Record<string, Record<string, Create>> = {
  'Start and end:': {
    up: upCommand,
    test: testCommand,
    down: downCommand,
    status: statusCommand,
    doctor: doctorCommand,
  },
  'While a session runs:': {
    wait: waitCommand,
    restart: restartCommand,
    logs: logsCommand,
    env: envCommand,
    reviews: reviewsCommand,
    reconciles: reconcilesCommand,
  },
  'Before you deploy:': { plan: planCommand, rbac: rbacCommand, crashtest: crashtestCommand },
  [MORE]: {
    ...{ calls: callsCommand, timeline: timelineCommand },
    ...{ hold: holdCommand, release: releaseCommand, fault: faultCommand },
    ...{ init: initCommand, mcp: mcpCommand, certs: certsCommand },
    ...{ config: configCommand, context: contextCommand },
  },
};

/**
 * The name of the only command to create, if the arguments begin with one. Creating all commands takes as long as running a short command.
 */
export function aloneIn([first = '']: string[]): string | undefined {
  return Object.values(COMMANDS).some((commands) => Object.hasOwn(commands, first)) ? first : undefined;
}

/** Creates the program with all commands, or only with the one named `only`. */
export function createProgram(shell: Shell, own?: string[], only?: string): Command {
  const program = new Command(shell.name)
    .description(
      'Runs a Kubernetes operator on your machine as if it ran in the cluster, admission and conversion webhooks included, and restores the cluster afterwards.',
    )
    .usage('<command> [options]')
    .version(shell.version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help, or the help of a command')
    .helpCommand(false);
  for (const [group, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(group);
    for (const [name, create] of Object.entries(commands))
      if (only === undefined || only === name) program.addCommand(create(shell, own));
  }
  if (only === undefined) program.addCommand(completionCommand(shell));
  configureHelp(program, shell);
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: shell.write,
      outputError() {},
      // By default, commander asks process.stdout, which takes longer to create than the help.
      getOutHelpWidth: () => shell.columns ?? HELP_COLUMNS,
      getOutHasColors: () => true,
    });
    suggestChoices(command);
  }
  return program;
}

const OF_DEVLOOP = ['-V', '--version'];

/** Turns `--json up` into `up --json`, and `help up` into `up --help`, because every flag belongs to a command. */
function commandFirst(args: string[], commands: readonly Command[]): string[] {
  const at = placeOfCommand(args, commands);
  const name = args[at];
  if (name === undefined) return args;
  const rest = [...args.slice(0, at), ...args.slice(at + 1)];
  if (name !== 'help') return [name, ...rest];
  const [about] = rest;
  const isKnown = about === undefined || commands.some((command) => command.name() === about);
  return isKnown ? [...rest, '--help'] : rest;
}

/** The flag that needs a command, if no command is given. */
function lonelyFlag([first = '']: string[], commands: readonly Command[]): string | undefined {
  return flagOf(first, commands) && first;
}

/** The index of the command; past the last argument if there is none. */
export function placeOfCommand(args: string[], commands: readonly Command[]): number {
  let at = 0;
  while (args[at]?.startsWith('-') && !OF_DEVLOOP.includes(args[at]!))
    at += flagOf(args[at]!, commands)?.required ? 2 : 1;
  return at;
}

function flagOf(arg: string, commands: readonly Command[]): Option | undefined {
  return commands.flatMap(({ options }) => options).find(({ long, short }) => arg === long || arg === short);
}
