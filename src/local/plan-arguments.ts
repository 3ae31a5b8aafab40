import { basename, posix } from 'node:path';
import type { FoundCommand } from '../controller/go/image-command.ts';
import { DevloopError } from '../errors.ts';
import { readFlags } from '../operator/cobra-commands.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import { electionSwitch } from '../operator/leader-election.ts';
import type { Target } from '../operator/target.ts';
import { mountPointsIn } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { auxiliaryPorts, localArguments } from './arguments.ts';
import { busyAmong } from './busy-ports.ts';
import { programOf } from './container-words.ts';
import { withFlags } from './flag-place.ts';
import { ELECTION_OFF } from './leader-election.ts';
import { type MountedPath, rewritePaths } from './mounts.ts';
import type { PlannedProgram } from './program.ts';

/**
 * Throws if an argument contains a NUL byte. The error shows the argument as it is written in the manager's container, since its value may
 * come from a Secret.
 */
export function requirePassable(given: string[], expanded: ExpandedArgument[]): void {
  const at = expanded.findIndex(({ value }) => value.includes('\0'));
  if (at < 0) return;
  const message = `The manager's argument ${given[at]!.replaceAll('\0', '\\0')} contains a NUL byte, so no program can be started with it.`;
  const hint =
    'Correct the argument or the Secret in the cluster, or give your own command: devloop up -- COMMAND';
  throw new DevloopError('controller.argument', message, { hint });
}

/** The container's words after its program, including a subcommand in `command` or in the ENTRYPOINT of its image. */
export function containerArguments(target: Target, image: FoundCommand | undefined, emit: Emit): string[] {
  const [program = '', ...own] = programOf(target, image);
  const { command = [], args = [] } = target.manager?.container ?? {};
  const ofImage = command.length === 0 && image ? own.slice(0, Math.max(0, own.length - args.length)) : [];
  if (ofImage.length > 0) emit({ type: 'note', message: startsWith(ofImage, image!) });
  if (!['sh', 'bash', 'ash', 'dash'].includes(basename(program))) return own;
  const words = scriptArguments(own);
  if (words === undefined) emit({ type: 'warning', message: THROUGH_SHELL });
  return words ?? [];
}

function startsWith(words: string[], { source }: FoundCommand): string {
  return `${words.join(' ')}\nis added: the image starts the program with it (ENTRYPOINT or CMD in ${source}).`;
}

const THROUGH_SHELL =
  "A shell starts the manager in its container, with a script that devloop does not evaluate, so the controller runs without the manager's arguments.";

/** The arguments in a script such as `-c 'exec /manager --a=$(B) --c="$D"'`: one command of plain words. Undefined for any other script. */
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

/** Kubernetes expands `$(A)`; the shell expands the other forms. */
const REFERENCE = /\$\((\w+)\)|\$\{(\w+)\}|\$(\w+)/g;
const SPECIAL = /[;&|<>()`$\\*?!#~[\]{}\n]/;

/** Whether a shell takes all of the script literally except for variables. In quotes, fewer characters are special. */
function isPlain(script: string): boolean {
  const parts = script.match(/"[^"`\\]*"|'[^'$]*'|[^"']+/g) ?? [];
  const special = (part: string): RegExp => (part.startsWith('"') ? /\$/ : SPECIAL);
  return (
    parts.join('') === script &&
    parts.every((part) => part.startsWith("'") || !special(part).test(part.replaceAll(REFERENCE, '')))
  );
}

/**
 * Makes relative paths to mounted files absolute. They are relative to the container's working directory, which is the root in most images,
 * and kubebuilder's scaffold names `controller_manager_config.yaml` there. If the container sets no directory, a word without a dot or a
 * slash does not count as a path.
 */
export function inWorkingDirectory(own: ExpandedArgument[], { manager }: Target): ExpandedArgument[] {
  if (manager === undefined) return own;
  const points = mountPointsIn(manager);
  const { workingDir } = manager.container;
  const absolute = (word: string): string =>
    word.replace(/^(-[^=]*=)?([\w.][\w./-]*)$/, (all, flag: string = '', path: string) => {
      if (workingDir === undefined && !/[./]/.test(path)) return all;
      const joined = posix.join(workingDir ?? '/', path);
      const isMounted = points.some((point) => joined === point.path || joined.startsWith(`${point.path}/`));
      return isMounted ? flag + joined : all;
    });
  return own.map(({ value, shown }) =>
    value === shown ? { value: absolute(value), shown: absolute(shown) } : { value, shown },
  );
}

/** What is known about the program's leader election. */
interface Election extends Pick<PlannedProgram, 'electionFlags' | 'isElectable'> {}

interface ArgumentInputs extends Election {
  paths: MountedPath[];
  /** The arguments of the controller that is already running. */
  running: string[];
  /** Names that the sources give to commands. */
  commands: ReadonlySet<string>;
}

export async function planArguments(
  own: ExpandedArgument[],
  { paths, running, commands, ...election }: ArgumentInputs,
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
  const ports = auxiliaryPorts(values).filter((port) => !auxiliaryPorts(running).includes(port));
  const { args, changes } = localArguments(values, { ...election, paths, busyPorts: await busyAmong(ports) });
  for (const { argument, became, because, isDoubtful } of changes) {
    const [before, after] = [argument, became].map((words) => words.map(show).join(' '));
    const outcome = after === '' ? 'is left out' : `becomes ${after}`;
    emit({ type: isDoubtful ? 'warning' : 'note', message: `${before}\n${outcome}: ${because}` });
  }
  return {
    args: withFlags(args, electionOffByFlag({ ...election, commands }, values, emit), commands),
    hidden,
  };
}

/**
 * The flags that turn leader election off, for a program that elects a leader by default and whose arguments do not mention leader
 * election.
 */
function electionOffByFlag(
  { electionFlags, isElectable, commands }: Election & Pick<ArgumentInputs, 'commands'>,
  args: string[],
  emit: Emit,
): string[] {
  if (isElectable || args.some((argument) => electionSwitch(argument.replace(/=.*$/s, '')) !== undefined))
    return [];
  const read = readFlags(electionFlags, args, commands);
  return [...new Set(read.map(({ flag }) => flag))].map((flag) => {
    const argument = `--${flag}=${electionSwitch(flag) === 'inverse'}`;
    emit({ type: 'note', message: `${argument}\nis added: ${ELECTION_OFF}` });
    return argument;
  });
}
