import { basename } from 'node:path';
import type { NodeCommand } from './command.ts';
import type { NodePackage } from './packages.ts';

/** Options of Node that name no code. */
const PLAIN =
  /^--(?:enable-source-maps|expose-gc|experimental-(?:strip|transform)-types|max-(?:old|semi)-space-size=\d+|no-(?:warnings|deprecation)|trace-(?:warnings|deprecation|uncaught)|unhandled-rejections=[a-z-]+|env-file(?:-if-exists)?=[\w.-]+)$/;
/** Options that load a library before the program. */
const LOADS = /^(?:-r|--require|--import|--loader|--experimental-loader)(?:=(.*))?$/s;
/** `tsx`, `ts-node/register` or `@swc-node/register/esm`: a library, and a file in it. */
const LIBRARY = /^(@[\w.-]+\/[\w.-]+|[\w.-]+)(?:\/[\w./-]+)?$/;

/**
 * The first word for which a command of the container could run other code than the checkout's; undefined if there is none. Whoever edits
 * the Deployment chooses its words, and Node runs what they name: `node -e CODE`, `node --import=data:…`, `tsx -e CODE`. So Node gets only
 * options that name no code, or a library that the checkout depends on; another program than the checkout's own gets a file of the checkout
 * first. What follows is for that file. `isFile`: whether the checkout contains it.
 */
export function foreignWord(
  command: NodeCommand,
  packages: NodePackage[],
  isFile: (word: string) => boolean,
): string | undefined {
  if (command.is === 'script') return undefined;
  if (command.is === 'program') {
    const isOwn = packages.some(({ name, bin }) => bin !== undefined && basename(name) === command.program);
    const [first = ''] = command.args;
    return isOwn || (!first.startsWith('-') && isFile(first))
      ? undefined
      : `${command.program} ${first}`.trim();
  }
  const { options } = command;
  for (let at = 0; at < options.length; at++) {
    const option = options[at]!;
    const loads = LOADS.exec(option);
    if (loads === null) {
      if (!PLAIN.test(option)) return option;
      continue;
    }
    const library = loads[1] ?? options[++at] ?? '';
    if (!isDependency(library, packages)) return `${option} ${library}`;
  }
  return undefined;
}

function isDependency(library: string, packages: NodePackage[]): boolean {
  const [, name = ''] = library.includes('..') ? [] : (LIBRARY.exec(library) ?? []);
  return packages.some(
    ({ dependencies, devDependencies }) =>
      Object.hasOwn(dependencies, name) || Object.hasOwn(devDependencies, name),
  );
}
