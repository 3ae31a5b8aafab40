import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, isExecutableFile } from '../../machine/find-program.ts';
import { runTool } from '../../machine/tool.ts';

/** The virtual environment of a checkout: its directory, and the environment variables with which its programs are found. */
export interface PythonEnvironment {
  /** Undefined if there is none: then programs come from the PATH. */
  directory: string | undefined;
  env: Record<string, string>;
}

const POETRY_SECONDS = 20;

/** Looks where uv, poetry and `python -m venv` make it. Installs nothing. */
export async function pythonEnvironment(root: string, signal?: AbortSignal): Promise<PythonEnvironment> {
  const { UV_PROJECT_ENVIRONMENT: ofUv, VIRTUAL_ENV: active, PATH = '' } = process.env;
  const places = [ofUv && join(root, ofUv), join(root, '.venv'), join(root, 'venv'), active];
  const directory = places.find((one) => one && isEnvironment(one)) ?? (await ofPoetry(root, signal));
  const own: Record<string, string> =
    directory === undefined ? {} : { VIRTUAL_ENV: directory, PATH: `${join(directory, 'bin')}:${PATH}` };
  // Output that waits in a buffer would come minutes late.
  return { directory, env: { ...own, PYTHONUNBUFFERED: '1' } };
}

function isEnvironment(directory: string): boolean {
  return existsSync(join(directory, 'bin', 'python')) || existsSync(join(directory, 'pyvenv.cfg'));
}

/** Poetry keeps the environments of all projects in one place. */
async function ofPoetry(root: string, signal?: AbortSignal): Promise<string | undefined> {
  if (!existsSync(join(root, 'poetry.lock'))) return undefined;
  const limit = AbortSignal.timeout(POETRY_SECONDS * 1000);
  const ends = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  const asked = await runTool(['poetry', 'env', 'info', '--path'], { cwd: root, signal: ends }).catch(
    () => undefined,
  );
  const path = asked?.code === 0 ? asked.stdout.trim() : '';
  return path !== '' && isEnvironment(path) ? path : undefined;
}

/** Where a program of the environment is; undefined if it is not installed there, or was installed for a Python that is gone. */
export function findInEnvironment(
  program: string,
  { directory, env }: PythonEnvironment,
): string | undefined {
  const own = directory && join(directory, 'bin', program);
  if (own && isExecutableFile(own) && hasInterpreter(own)) return own;
  // Programs of the environment, such as kopf, would import its packages, and not find them elsewhere.
  if (directory !== undefined && program !== 'python') return undefined;
  for (const name of program === 'python' ? ['python3', 'python'] : [program]) {
    const found = findProgram(name, env.PATH ?? process.env.PATH);
    if ('path' in found) return found.path;
  }
  return undefined;
}

/** An environment that was moved has scripts whose first line names a file that is gone. */
function hasInterpreter(script: string): boolean {
  const [line = ''] = readFileSync(script, 'latin1').slice(0, LONGEST_LINE).split('\n');
  const [, interpreter] = /^#!\s*(\S+)/.exec(line) ?? [];
  return interpreter === undefined || existsSync(interpreter);
}

const LONGEST_LINE = 500;

/** The command that installs what the checkout needs. */
export function installCommand(root: string): string {
  const has = (name: string): boolean => existsSync(join(root, name));
  if (has('uv.lock')) return 'uv sync';
  if (has('poetry.lock')) return 'poetry install';
  if (has('Pipfile')) return 'pipenv install';
  const what = has('requirements.txt')
    ? '-r requirements.txt'
    : has('pyproject.toml') || has('setup.py')
      ? '-e .'
      : 'kopf';
  return `python3 -m venv .venv && .venv/bin/pip install ${what}`;
}
