import { posix } from 'node:path';
import { isShell, isStarter, startedWords } from '../checkout/image/started-words.ts';
import type { FoundCommand } from '../checkout/language.ts';
import { isAtOrBelow } from '../checkout/paths.ts';
import { DevloopError } from '../errors.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import type { Target } from '../operator/target.ts';
import { mountPointsIn } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';

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

/**
 * The container's words after its program, including a subcommand in `command` or in the ENTRYPOINT of its image. `argumentsIn`: which of
 * them the program itself gets, for example none of `npm start`.
 */
export function containerArguments(
  target: Target,
  image: FoundCommand | undefined,
  emit: Emit,
  argumentsIn = (words: string[]): string[] => words,
): string[] {
  const [program = '', ...own] = programOf(target, image);
  if (isShell(program)) {
    emit(notice('arguments.in-script', {}));
    return [];
  }
  const { command = [], args = [] } = target.manager?.container ?? {};
  const ofImage = command.length === 0 && image ? own.slice(0, Math.max(0, own.length - args.length)) : [];
  const given = new Set(ofImage.length > 0 ? argumentsIn(own) : []);
  const words = ofImage.filter((word) => given.has(word));
  if (words.length > 0) emit(notice('arguments.of-image', { words, source: image!.source }));
  return own;
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

/**
 * The words of the manager's program, starting with the program itself ('' if it is unknown), even if the image defines them. If the
 * image's entrypoint is not known, it can be an init that starts the first argument as the program, unless that argument is a mounted path
 * or has a suffix: then it is a file for the program.
 */
export function programOf({ manager }: Pick<Target, 'manager'>, image: FoundCommand | undefined): string[] {
  const { command: own = [], args = [] } = manager?.container ?? {};
  const command = own.length > 0 ? own : (image?.entrypoint ?? []);
  const words = [...command, ...(own.length + args.length > 0 ? args : (image?.cmd ?? []))];
  const [first = ''] = words;
  const isMounted =
    manager !== undefined && mountPointsIn(manager).some(({ path }) => isAtOrBelow(first, path));
  const isKnown = command.length > 0 || (args.length === 0 && image !== undefined) || isStarter(first);
  const isProgram = isKnown || (/^\/(?:[\w.-]+\/)*[\w-]+$/.test(first) && !isMounted);
  return isProgram ? startedWords(words) : ['', ...words];
}
