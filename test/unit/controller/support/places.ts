import { mkdir, mkdtemp, readFile, realpath, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/controller');

export function fixture(name: string): string {
  return join(FIXTURES, name);
}

/** The command that runs a fixture program. */
export function program(name: string, ...args: (string | number)[]): string[] {
  return [process.execPath, fixture(name), ...args.map(String)];
}

/** A temporary directory with these files; removed after the test. */
export async function directoryWith(files: Record<string, string> = {}): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'devloop-controller-')));
  onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  for (const [name, text] of Object.entries(files)) await put(directory, name, text);
  return directory;
}

export async function put(directory: string, name: string, text: string): Promise<string> {
  const file = join(directory, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

/** A Go operator that builds in a moment. It is older than any build: what was saved less than a moment before one counts as saved after it. */
export async function operatorModule(): Promise<string> {
  const files = {
    'go.mod': 'module example.com/operator\n\ngo 1.24\n',
    'cmd/main.go': await readFile(fixture('manager.go.txt'), 'utf8'),
    'internal/greeting/greeting.go': greeting('first'),
  };
  const directory = await directoryWith(files);
  const before = new Date(Date.now() - 60_000);
  for (const name of Object.keys(files)) await utimes(join(directory, name), before, before);
  return directory;
}

export function greeting(text: string, comment = 'Text is said first.'): string {
  return `package greeting\n\n// ${comment}\nconst Text = "${text}"\n`;
}
