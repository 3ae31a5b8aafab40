import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { keptProgram } from '../../src/session/start/controller.ts';
import { CACHE, INSTALLED_PACKAGES } from '../../test/cluster/cache.ts';

const execute = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');

/** The newest programs that devloop built, and its own compiled code. */
const OWN_CACHE = dirname(dirname(keptProgram(process.env, ROOT)));

/** npm names it to the scripts that it runs. */
const NPM_CACHE = process.env.npm_config_cache || join(homedir(), '.npm');

interface Kept {
  what: string;
  directory: string;
  remove: string;
}

/** What the demo and the tests keep on this machine so that they start faster the next time, with sizes, and how to remove it. */
export async function keptOnDisk(): Promise<string> {
  // The user may have removed Go and its builds in the meantime.
  const { stdout } = await execute('go', ['env', 'GOCACHE', 'GOMODCACHE']).catch(() => ({ stdout: '' }));
  const [builds = '', modules = ''] = stdout.split('\n');
  const ofGo: Kept[] = [
    { what: "Go's builds, of all your projects", directory: builds, remove: 'go clean -cache' },
    { what: "Go's modules, of all your projects", directory: modules, remove: 'go clean -modcache' },
  ];
  const all: Kept[] = [
    { what: 'etcd, kube-apiserver, the test cluster', directory: CACHE, remove: `rm -rf ${CACHE}` },
    {
      what: 'programs that devloop built, its own code',
      directory: OWN_CACHE,
      remove: `rm -rf ${OWN_CACHE}`,
    },
    {
      what: 'npm packages, Node among them',
      directory: join(ROOT, 'node_modules'),
      remove: `rm -rf ${ROOT}/node_modules`,
    },
    { what: "npm's cache, of all your projects", directory: NPM_CACHE, remove: 'npm cache clean --force' },
    ...(stdout === '' ? [] : ofGo),
  ];
  const sizes = await Promise.all(all.map(({ directory }) => sizeOf(directory)));
  const lines = all.map(({ what, remove }, at) => `  ${sizes[at]!.padStart(6)}  ${what.padEnd(43)}${remove}`);
  const packages = (await readFile(INSTALLED_PACKAGES, 'utf8').catch(() => '')).split(/\s+/).filter(Boolean);
  const names = [...new Set(packages)].join(' ');
  if (names !== '')
    lines.push(`          ${'Debian packages installed for this'.padEnd(43)}apt-get remove ${names}`);
  if (await isLinked())
    lines.push(`          ${'the command devloop'.padEnd(43)}npm unlink --global kube-devloop`);
  return ['Kept on this machine, to start faster the next time, and how to remove it:', ...lines].join('\n');
}

/** Whether `npm link` has made this checkout's devloop a command. */
async function isLinked(): Promise<boolean> {
  const targets = await Promise.all(filesOnPath('devloop').map((file) => realpath(file)));
  return targets.includes(join(ROOT, 'bin/devloop.js'));
}

/** The files of this name in the directories of PATH, in their order. */
export function filesOnPath(name: string): string[] {
  const places = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, name));
  return places.filter((place) => existsSync(place));
}

async function sizeOf(directory: string): Promise<string> {
  const { stdout } = await execute('du', ['-sh', directory]).catch(() => ({ stdout: '-' }));
  return stdout.split('\t')[0]!.trim();
}
