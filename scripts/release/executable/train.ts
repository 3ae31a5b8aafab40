// Runs a command of devloop from files, as an executable does from its assets, and keeps what V8 has compiled of them by then. Another run
// begins with that and adds to it. Without a command, it makes of them what an executable accepts, for all files of the program.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Script } from 'node:vm';
import { scriptOf, start } from './start.ts';
import { UNTIMED } from './untimed.ts';

const [node, , directory, caches, ...command] = process.argv as [string, string, string, string];
/** What a timer of Node can wait for at most, in milliseconds. */
const NEVER = 2 ** 31 - 1;
const scripts = new Map<string, Script>();

if (command.length > 0) run();
else finish();

function load(name: string): Script {
  const file = cacheOf(name);
  const source = readFileSync(join(directory, name), 'latin1');
  const script = scriptOf(name, { source, ...(existsSync(file) && { cache: readFileSync(file) }) });
  if (script.cachedDataRejected) throw new Error(`V8 does not accept its own cache of ${name}`);
  scripts.set(name, script);
  return script;
}

function cacheOf(name: string): string {
  return join(caches, `${name}.cache`);
}

function keep(): void {
  for (const [name, script] of scripts) writeFileSync(cacheOf(name), script.createCachedData());
}

function run(): void {
  // What is shown after a second would be compiled on a slow machine only.
  const every = setInterval;
  Object.assign(globalThis, { setInterval: (work: () => void) => every(work, NEVER) });
  // As in an executable (src/machine/own-program.ts).
  const getRawAsset = (name: string): Buffer => readFileSync(join(directory, name));
  Object.assign(process.getBuiltinModule('node:sea'), { isSea: () => true, getRawAsset });
  process.on('exit', keep);
  process.argv = [node, 'devloop', ...command];
  start({ script: load, help: () => getRawAsset('help.txt') });
}

/** V8 accepts no cache that was made with other flags than it has, and none of the program's code runs here. */
function finish(): void {
  for (const name of readdirSync(directory).filter((one) => one.endsWith('.js'))) load(name);
  for (const flag of UNTIMED) setFlagsFromString(flag.replace(/^--no-/, '--'));
  keep();
}
