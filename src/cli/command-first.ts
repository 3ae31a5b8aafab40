import type { Command, Option } from 'commander';

const OF_DEVLOOP = ['-V', '--version'];

/** `--json up` is `up --json`, and `help up` is `up --help`: every flag belongs to its command. */
export function commandFirst(args: string[], commands: readonly Command[]): string[] {
  const at = placeOfCommand(args, commands);
  const name = args[at];
  if (name === undefined) return args;
  const rest = [...args.slice(0, at), ...args.slice(at + 1)];
  if (name !== 'help') return [name, ...rest];
  const [about] = rest;
  const isKnown = about === undefined || commands.some((command) => command.name() === about);
  return isKnown ? [...rest, '--help'] : rest;
}

/** Where no command is given: the flag that would belong to one. */
export function lonelyFlag([first = '']: string[], commands: readonly Command[]): string | undefined {
  return flagOf(first, commands) && first;
}

/** The index of the command; past the last argument where there is none. */
function placeOfCommand(args: string[], commands: readonly Command[]): number {
  let at = 0;
  while (args[at]?.startsWith('-') && !OF_DEVLOOP.includes(args[at]!))
    at += flagOf(args[at]!, commands)?.required ? 2 : 1;
  return at;
}

function flagOf(arg: string, commands: readonly Command[]): Option | undefined {
  return commands.flatMap(({ options }) => options).find(({ long, short }) => arg === long || arg === short);
}
