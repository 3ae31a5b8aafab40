import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { homeDirectory } from '../../machine/account.ts';
import { COARSE_CLOCK_MS } from '../files.ts';
import type { Embed } from './embeds.ts';
import { replacedIn } from './go-mod.ts';
import type { SourceSet } from './source-set.ts';

/** What a program was built from. While this is unchanged, the go tool would find nothing to do. */
export interface BuiltFrom {
  directories: string[];
  embedded: string[];
  embeddedDirectories: string[];
  embeds: Embed[];
  packages: [string, string][];
  /** A hash over all these files, the go tool and its settings: equal only if nothing has been written since. */
  state: string;
}

/** What determines the result of a build besides the sources. */
export interface GoSettings {
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/**
 * What a program was built from, if its build began at `fromMs` (of `Date.now()`). Undefined if that is not certain, because something was
 * written after that moment, or the build depends on other files as well.
 */
export function builtFrom(sources: SourceSet, settings: GoSettings, fromMs: number): BuiltFrom | undefined {
  const now = stateOf(sources, settings);
  if (now === undefined || now.newestMs >= fromMs - COARSE_CLOCK_MS) return undefined;
  return {
    directories: [...sources.directories],
    embedded: [...sources.embedded],
    embeddedDirectories: [...sources.embeddedDirectories],
    embeds: sources.embeds,
    packages: [...sources.packages],
    state: now.state,
  };
}

/**
 * The sources, if neither they nor the go tool and its settings have changed. Takes a few microseconds for each file. `before` was read
 * from a file, which can be damaged.
 */
export function unchangedSources(before: BuiltFrom, settings: GoSettings): SourceSet | undefined {
  try {
    const sources = {
      directories: new Set(before.directories),
      embedded: new Set(before.embedded),
      embeddedDirectories: new Set(before.embeddedDirectories),
      embeds: [...before.embeds],
      packages: new Map(before.packages),
    };
    return stateOf(sources, settings)?.state === before.state ? sources : undefined;
  } catch {
    return undefined;
  }
}

interface Noted {
  lines: string[];
  newestMs: number;
}

function stateOf(
  sources: SourceSet,
  { cwd, env }: GoSettings,
): { state: string; newestMs: number } | undefined {
  try {
    const tool = goTool(env);
    if (tool === undefined) return undefined;
    const noted: Noted = { lines: [], newestMs: 0 };
    for (const directory of [...sources.directories, ...sources.embeddedDirectories].sort())
      if (!noteDirectory(directory, noted)) return undefined;
    // The go tool uses the nearest go.work, so a new one changes the build even if nothing else in its directory is a source.
    const workspaces = [cwd, env.PWD ?? cwd]
      .flatMap(ancestors)
      .map((above) => stampOf(join(above, 'go.work'), noted));
    const lines = [...noted.lines, ...workspaces, ...settingsOf(tool, env)];
    return { state: hashOf(lines), newestMs: noted.newestMs };
  } catch {
    return undefined;
  }
}

/**
 * A hash of everything that determines the user's GOFLAGS; undefined if that cannot be determined. It is a hash because variables can hold
 * secrets.
 */
export function flagsState(env: NodeJS.ProcessEnv): string | undefined {
  try {
    const tool = goTool(env);
    return tool && hashOf(settingsOf(tool, env));
  } catch {
    return undefined;
  }
}

function hashOf(lines: string[]): string {
  return createHash('sha256').update(lines.join('\n')).digest('base64');
}

function ancestors(directory: string): string[] {
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...ancestors(above)];
}

/**
 * Notes every file, since the go tool also reads files that `go list` does not name. Returns false if a `vendor` directory holds the
 * sources of other modules.
 */
function noteDirectory(directory: string, noted: Noted): boolean {
  noted.lines.push(directory);
  // A package can be imported although its directory does not exist yet.
  if (!existsSync(directory)) return true;
  stampOf(directory, noted);
  const entries = readdirSync(directory, { withFileTypes: true });
  const names = entries.map(({ name }) => name);
  if (names.includes('vendor') && names.some((name) => name === 'go.mod' || name.endsWith('.work')))
    return false;
  for (const entry of entries) {
    const path = join(directory, entry.name);
    noted.lines.push(entry.isDirectory() ? `${entry.name}/` : `${entry.name} ${stampOf(path, noted)}`);
    if (entry.name === 'go.mod') noteReplaced(path, noted);
    if (entry.name.endsWith('.work')) noteModulesOf(path, noted);
  }
  return true;
}

/**
 * Notes the modules of a workspace, and the directories that replace modules: their requirements affect the build, even if none of their
 * packages is built. Each word of the file, quoted or not, is tried as a directory with a go.mod.
 */
function noteModulesOf(workspace: string, noted: Noted): void {
  const text = readFileSync(workspace, 'utf8').replace(/\/\/.*$/gm, '');
  for (const word of new Set(text.match(/[^\s()"`]+/g))) {
    const module = resolve(dirname(workspace), word);
    const goMod = join(module, 'go.mod');
    noted.lines.push(stampOf(goMod, noted), stampOf(join(module, 'go.sum'), noted));
    if (existsSync(goMod)) noteReplaced(goMod, noted);
  }
}

/** Notes the directories that replace modules in a go.mod. */
function noteReplaced(goMod: string, noted: Noted): void {
  for (const module of replacedBy(goMod)) noted.lines.push(stampOf(module, noted));
}

/** The go.mod files of the directories that replace modules. */
function replacedBy(goMod: string): string[] {
  const replaced = replacedIn(readFileSync(goMod, 'utf8'), dirname(goMod));
  return replaced.map(({ directory }) => join(directory, 'go.mod'));
}

/** A value that stays equal only while the file has neither been written nor been replaced by another file. */
function stampOf(path: string, noted?: Noted): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return 'none';
  const { ino, size, mtimeNs, ctimeNs } = found;
  if (noted) noted.newestMs = Math.max(noted.newestMs, Number(mtimeNs / MS), Number(ctimeNs / MS));
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

const MS = 1_000_000n;

/** The go tool. Undefined if it is the shim of a version manager, which chooses a version by files and variables of its own. */
function goTool({ PATH = '' }: NodeJS.ProcessEnv): string | undefined {
  const found = PATH.split(delimiter)
    .map((directory) => join(directory, 'go'))
    .find((file) => existsSync(file));
  const tool = found && realpathSync(found);
  return tool === undefined || basename(tool) !== 'go' || isScript(tool) ? undefined : tool;
}

function isScript(file: string): boolean {
  const opened = openSync(file, 'r');
  try {
    const head = Buffer.alloc(2);
    readSync(opened, head);
    return head.toString('latin1') === '#!';
  } finally {
    closeSync(opened);
  }
}

/** The go tool itself, its own settings, and the variables that it and the C compiler read. */
function settingsOf(tool: string, env: NodeJS.ProcessEnv): string[] {
  const home = homeDirectory(env);
  const files = [
    tool,
    env.GOENV ?? join(env.XDG_CONFIG_HOME || join(home, '.config'), 'go/env'),
    join(home, 'Library/Application Support/go/env'),
    join(dirname(dirname(tool)), 'go.env'),
  ];
  const variables = Object.entries(env).filter(([name]) => READ_BY_TOOLS.test(name));
  return [
    ...files.map((file) => `${file} ${stampOf(file)}`),
    ...variables.map(([name, value]) => `${name}=${value}`).sort(),
  ];
}

const READ_BY_TOOLS =
  /^(PATH|GO(?!GC$)\w+|CGO_\w+|CC|CXX|FC|AR|PKG_CONFIG\w*|\w*_INCLUDE_PATH|LIBRARY_PATH|CPATH)$/;
