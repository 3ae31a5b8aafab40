import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DevloopError, documentPath, messageOf } from '../errors.ts';
import type { Problem } from './parse.ts';
import type { Config } from './table.ts';

export type { Config } from './table.ts';

const NAME = 'devloop.yaml';
const HINT = `All settings are documented in ${documentPath('guide.md')}`;
const LARGEST = 64 * 1024;
const SHOWN = 20;

/**
 * Reads the nearest devloop.yaml in the checkout. A file that belongs to another user is an error, because the file names commands to run.
 */
export async function loadConfig(cwd: string): Promise<{ file: string; config: Config } | undefined> {
  const file = configFile(cwd);
  if (file === undefined) return undefined;
  const text = await readText(file);
  // Most checkouts have no such file and do not need the parser.
  const { parseConfig } = await import('./parse.ts');
  const parsed = parseConfig(text);
  if ('problems' in parsed) throw invalid(file, parsed.problems);
  return { file, config: parsed.config };
}

/** The nearest devloop.yaml from `cwd` up to the end of the checkout, without reading it. */
export function configFile(cwd: string): string | undefined {
  return insideCheckout(cwd)
    .map((directory) => join(directory, NAME))
    .find((file) => existsSync(file));
}

/** `cwd` and the directories above it, as far as the nearest with a .git, else with a go.mod; without either, `cwd` alone. */
export function insideCheckout(cwd: string): string[] {
  const above = [cwd];
  for (let directory = cwd; dirname(directory) !== directory; directory = dirname(directory))
    above.push(dirname(directory));
  const end = ['.git', 'go.mod']
    .map((sign) => above.find((one) => existsSync(join(one, sign))))
    .find(Boolean);
  return above.slice(0, above.indexOf(end ?? cwd) + 1);
}

async function readText(file: string): Promise<string> {
  try {
    const stats = await stat(file);
    const { size, uid } = stats;
    // Reading a pipe or a device may never end.
    if (!stats.isFile()) throw new Error('it is not a file');
    if (uid !== (process.getuid?.() ?? uid)) throw new Error(`it belongs to another user (uid ${uid})`);
    if (size > LARGEST) throw new Error(`it has ${size} bytes; expected at most ${LARGEST}`);
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (cause) {
    const why = cause instanceof TypeError ? 'it is not UTF-8 text' : messageOf(cause);
    throw new DevloopError('config.invalid', `${file} cannot be used: ${why}`, { hint: HINT, cause });
  }
}

function invalid(file: string, problems: Problem[]): DevloopError {
  const lines = problems
    .slice(0, SHOWN)
    .map(({ line, column, message }) => `\n  ${line}:${column}  ${message}`);
  const more = problems.length > SHOWN ? `\n  and ${problems.length - SHOWN} more` : '';
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new DevloopError('config.invalid', `${file} has ${count}:${lines.join('')}${more}`, { hint: HINT });
}
