import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DevloopError, messageOf } from '../errors.ts';
import type { Problem } from './parse.ts';
import type { Config } from './schema.ts';

export type { Config } from './schema.ts';

const NAME = 'devloop.yaml';
const HINT = "devloop's docs/guide.md describes all settings.";
const LARGEST = 64 * 1024;
const SHOWN = 20;

/** Reads the nearest devloop.yaml from `cwd` upwards, but not from outside the checkout. */
export async function loadConfig(cwd: string): Promise<{ file: string; config: Config } | undefined> {
  const file = findFile(cwd);
  if (file === undefined) return undefined;
  const text = await readText(file);
  // Most checkouts have no such file and need no parser.
  const { parseConfig } = await import('./parse.ts');
  const parsed = parseConfig(text);
  if ('problems' in parsed) throw invalid(file, parsed.problems);
  return { file, config: parsed.config };
}

function findFile(cwd: string): string | undefined {
  for (let directory = cwd; ; directory = dirname(directory)) {
    const file = join(directory, NAME);
    if (existsSync(file)) return file;
    if (existsSync(join(directory, '.git')) || dirname(directory) === directory) return undefined;
  }
}

async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > LARGEST) throw new Error(`it has ${size} bytes; expected at most ${LARGEST}`);
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (cause) {
    const why = cause instanceof TypeError ? 'it is not UTF-8 text' : messageOf(cause);
    throw new DevloopError('config.invalid', `${file} cannot be read: ${why}`, { hint: HINT, cause });
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
