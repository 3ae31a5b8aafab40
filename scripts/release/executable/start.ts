import { Script } from 'node:vm';
import { quick } from '../../../bin/quick.js';

declare const DEVLOOP_VERSION: string;

/** A file of the program, and the code that V8 has compiled from it before. */
export interface Compiled {
  source: string;
  cache?: Buffer;
}

export interface Program {
  script(name: string): Script;
  help(): string | Buffer;
}

interface Module {
  exports: unknown;
}

/** A file of the program, ready to be run. */
export function scriptOf(name: string, { source, cache }: Compiled): Script {
  return new Script(source, { filename: `devloop/${name}`, ...(cache && { cachedData: cache }) });
}

/**
 * kubectl completes `kubectl devloop` with a program of this name (bin/kubectl_complete-devloop), for which there is a link to the executable.
 * Node puts the name under which it was started before the words.
 */
const COMPLETES = /(?:^|\/)kubectl_complete-devloop$/;

export function asCommand([node = '', name = '', ...words]: string[]): string[] {
  return [node, name, ...(COMPLETES.test(name) ? ['__complete', '--'] : []), ...words];
}

/** Runs devloop as `process.argv` says. All code is part of the program: nothing is loaded from the disk. */
export function start(program: Program): void {
  process.argv = asCommand(process.argv);
  if (quick(() => DEVLOOP_VERSION, program.help)) return;
  const modules = new Map<string, Module>();
  const load = (id: string): unknown => {
    if (!id.startsWith('./')) return builtin(id);
    const name = id.slice(2);
    const before = modules.get(name);
    if (before) return before.exports;
    const module: Module = { exports: {} };
    modules.set(name, module);
    program.script(name).runInThisContext()(module.exports, load, module, importing);
    return module.exports;
  };
  const importing = async (id: string): Promise<unknown> => {
    const found = load(id);
    return id.startsWith('./') ? found : { ...(found as object), default: found };
  };
  if (process.argv[2] === '--run-script') runScript(load);
  else load('./main.js');
}

function builtin(id: string): unknown {
  const found = process.getBuiltinModule(id);
  // Packages try to load what they can do without.
  if (!found) throw Object.assign(new Error(`Cannot find module '${id}'`), { code: 'MODULE_NOT_FOUND' });
  return found;
}

/** What `node -e` does, for a script of devloop's own (src/machine/own-program.ts). */
function runScript(require: (id: string) => unknown): void {
  const [program, , , script, ...words] = process.argv;
  process.argv = [program!, ...words];
  new Script(`(function (require) {${script}\n})`).runInThisContext()(require);
}
