import { basename, posix } from 'node:path';
import { DevloopError } from '../errors.ts';
import { isPortBusy } from '../machine/port.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import { electionSwitch } from '../operator/leader-election.ts';
import { isAtOrBelow } from '../operator/path-flags.ts';
import type { Target } from '../operator/target.ts';
import { mountPointsIn } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { localArguments } from './arguments.ts';
import { ELECTION_OFF } from './leader-election.ts';
import { type MountedPath, rewritePaths } from './mounts.ts';

/** Names arguments as they are written in the manager's container, since a value may be a Secret's. */
export function requirePassable(given: string[], expanded: ExpandedArgument[]): void {
  const at = expanded.findIndex(({ value }) => value.includes('\0'));
  if (at < 0) return;
  const message = `The manager's argument ${given[at]!.replaceAll('\0', '\\0')} contains a NUL byte, so no program can be started with it.`;
  const hint =
    'Correct the argument or the Secret in the cluster, or give your own command: devloop up -- COMMAND';
  throw new DevloopError('controller.argument', message, { hint });
}

/** The container's words after its program: a subcommand in `command` counts as well. */
export function containerArguments(target: Target, emit: Emit): string[] {
  const [program = '', ...own] = programOf(target);
  if (!['sh', 'bash', 'ash', 'dash'].includes(basename(program))) return own;
  const words = scriptArguments(own);
  if (words === undefined) emit({ type: 'warning', message: THROUGH_SHELL });
  return words ?? [];
}

/** Programs that start another one, whose words follow theirs. */
const INITS = new Set(['tini', 'tini-static', 'dumb-init', 'docker-init', 'catatonit']);

/**
 * The program's own words, that of the program first, even where the image starts it. Without a `command`, the program can be the first
 * argument, behind an init that is the image's entrypoint: a path that is mounted, or has a suffix, is a file for the program.
 */
function programOf({ manager }: Target): string[] {
  const { command = [], args = [] } = manager?.container ?? {};
  const words = [...command, ...args];
  const [first = ''] = words;
  if (INITS.has(basename(first))) return afterInit(words.slice(1));
  const isMounted =
    manager !== undefined && mountPointsIn(manager).some(({ path }) => isAtOrBelow(first, path));
  const isProgram = command.length > 0 || (/^\/(?:[\w.-]+\/)*[\w-]+$/.test(first) && !isMounted);
  return isProgram ? words : ['', ...words];
}

/** Some of an init's options have a value, which only `--` tells from the program. */
function afterInit(words: string[]): string[] {
  const end = words.indexOf('--');
  return end < 0 ? words.slice(words.findIndex((word) => !word.startsWith('-'))) : words.slice(end + 1);
}

const THROUGH_SHELL =
  "A shell starts the manager in its container, with a script that devloop does not evaluate, so the controller runs without the manager's arguments.";

/** Of `-c 'exec /manager --a=$(B) --c="$D"'`: one command of plain words. Undefined for any other script. */
function scriptArguments([flags = '', written = '', ...rest]: string[]): string[] | undefined {
  // Charts write one argument per line.
  const script = written.replaceAll(/\\\n\s*/g, ' ').trim();
  if (!/^-[a-z]*c$/.test(flags) || rest.length > 0 || !isPlain(script)) return undefined;
  const words = script.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  const [, ...own] = words[0] === 'exec' ? words.slice(1) : words;
  return own.map((word) =>
    word
      .replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2')
      .replaceAll(REFERENCE, (_, a, b, c) => `$(${a ?? b ?? c})`),
  );
}

/** `$(A)` is Kubernetes' own; the shell knows the others. */
const REFERENCE = /\$\((\w+)\)|\$\{(\w+)\}|\$(\w+)/g;
const SPECIAL = /[;&|<>()`$\\*?!#~[\]{}\n]/;

/** Nothing in it means more to a shell than its own characters and variables; in quotes, less does. */
function isPlain(script: string): boolean {
  const parts = script.match(/"[^"`\\]*"|'[^'$]*'|[^"']+/g) ?? [];
  const special = (part: string): RegExp => (part.startsWith('"') ? /\$/ : SPECIAL);
  return (
    parts.join('') === script &&
    parts.every((part) => part.startsWith("'") || !special(part).test(part.replaceAll(REFERENCE, '')))
  );
}

/** Relative paths to mounted files are relative to the container's working directory; here they become absolute. */
export function inWorkingDirectory(own: ExpandedArgument[], { manager }: Target): ExpandedArgument[] {
  if (manager?.container.workingDir === undefined) return own;
  const points = mountPointsIn(manager);
  const absolute = (word: string): string =>
    word.replace(/^(-[^=]*=)?([\w.][\w./-]*)$/, (all, flag: string = '', path: string) => {
      const joined = posix.join(manager.container.workingDir!, path);
      const isMounted = points.some((point) => joined === point.path || joined.startsWith(`${point.path}/`));
      return isMounted ? flag + joined : all;
    });
  return own.map(({ value, shown }) =>
    value === shown ? { value: absolute(value), shown: absolute(shown) } : { value, shown },
  );
}

export async function planArguments(
  own: ExpandedArgument[],
  { paths, running, electionFlags }: { paths: MountedPath[]; running: string[]; electionFlags: string[] },
  emit: Emit,
): Promise<{ args: string[]; hidden: Map<string, string> }> {
  const values = own.map(({ value }) => value);
  const secret = own.filter(({ value, shown }) => value !== shown);
  const hidden = new Map(
    secret.flatMap(({ value, shown }) => [
      [value, shown],
      [rewritePaths(value, paths), rewritePaths(shown, paths)],
    ]),
  );
  const show = (argument: string): string => hidden.get(argument) ?? argument;
  const ports = portsIn(values).filter((port) => !portsIn(running).includes(port));
  const { args, changes } = localArguments(values, { paths, busyPorts: await busyAmong(ports) });
  for (const { argument, became, because } of changes) {
    const [before, after] = [argument, became].map((words) => words.map(show).join(' '));
    const outcome = after === '' ? 'is left out' : `becomes ${after}`;
    emit({ type: 'note', message: `${before}\n${outcome}: ${because}` });
  }
  return { args: [...args, ...electionOffByFlag(electionFlags, values, emit)], hidden };
}

/** For a program that elects a leader unless its arguments say otherwise, and they do not speak of it. */
function electionOffByFlag(flags: string[], args: string[], emit: Emit): string[] {
  if (args.some((argument) => electionSwitch(argument.replace(/=.*$/s, '')) !== undefined)) return [];
  return flags.map((flag) => {
    const argument = `--${flag}=${electionSwitch(flag) === 'inverse'}`;
    emit({ type: 'note', message: `${argument}\nis added: ${ELECTION_OFF}` });
    return argument;
  });
}

function portsIn(args: string[]): number[] {
  const numbers = args.flatMap((argument) => [...argument.matchAll(/:(\d{2,5})\b/g)].map(([, port]) => port));
  return [...new Set(numbers.map(Number))].filter((port) => port > 0 && port < 65_536);
}

async function busyAmong(ports: number[]): Promise<number[]> {
  const busy = await Promise.all(ports.map((port) => isPortBusy(port)));
  return ports.filter((_, index) => busy[index]);
}
