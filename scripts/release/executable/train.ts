// Runs a command of devloop from files, as an executable does from its assets, and keeps what V8 has compiled of them by then. Another run
// begins with that and adds to it. Without a command, it keeps what is left: the files that no run has loaded.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { start } from './start.ts';

const [node, , directory, caches, ...command] = process.argv as [string, string, string, string];
const cacheOf = (name: string): string => join(caches, `${name}.cache`);
const sourceOf = (name: string): string => readFileSync(join(directory, name), 'latin1');
const keep = (name: string, script: Script): void => writeFileSync(cacheOf(name), script.createCachedData());

if (command.length > 0) run();
else
  for (const name of readdirSync(directory).filter((one) => one.endsWith('.js') && !existsSync(cacheOf(one))))
    keep(name, new Script(sourceOf(name), { filename: `devloop/${name}` }));

/** V8 notes in a cache for which functions it has also made machine code, which depends on time. It accepts no cache with other flags. */
function machineCode(isMade: boolean): void {
  setFlagsFromString(isMade ? '--sparkplug' : '--no-sparkplug');
}

function run(): void {
  const scripts = new Map<string, Script>();
  // As in an executable (src/machine/own-program.ts).
  const getRawAsset = (name: string): Buffer => readFileSync(join(directory, name));
  Object.assign(process.getBuiltinModule('node:sea'), { isSea: () => true, getRawAsset });
  process.on('exit', () => {
    machineCode(true);
    for (const [name, script] of scripts) keep(name, script);
  });
  process.argv = [node, 'devloop', ...command];
  start({
    file: (name) => {
      machineCode(true);
      const cache = existsSync(cacheOf(name)) ? { cache: readFileSync(cacheOf(name)) } : {};
      return { source: sourceOf(name), ...cache };
    },
    help: () => getRawAsset('help.txt'),
    loaded: (name, script) => {
      if (script.cachedDataRejected) throw new Error(`V8 does not accept its own cache of ${name}`);
      scripts.set(name, script);
      machineCode(false);
    },
  });
}
