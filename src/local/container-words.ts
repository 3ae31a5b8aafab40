import { basename } from 'node:path';
import type { FoundCommand } from '../controller/go/image-command.ts';
import { isAtOrBelow } from '../operator/path-flags.ts';
import type { Target } from '../operator/target.ts';
import { mountPointsIn } from '../operator/volumes.ts';

/** Init programs. The words of the program that an init starts follow the init's own options. */
const INITS = new Set(['tini', 'tini-static', 'dumb-init', 'docker-init', 'catatonit']);

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
  if (INITS.has(basename(first))) return afterInit(words.slice(1));
  const isMounted =
    manager !== undefined && mountPointsIn(manager).some(({ path }) => isAtOrBelow(first, path));
  const isKnown = command.length > 0 || (args.length === 0 && image !== undefined);
  const isProgram = isKnown || (/^\/(?:[\w.-]+\/)*[\w-]+$/.test(first) && !isMounted);
  return isProgram ? words : ['', ...words];
}

/**
 * The words after the options of an init. Some of these options have a value, and only `--` distinguishes such a value from the program.
 */
function afterInit(words: string[]): string[] {
  const end = words.indexOf('--');
  return end < 0 ? words.slice(words.findIndex((word) => !word.startsWith('-'))) : words.slice(end + 1);
}
