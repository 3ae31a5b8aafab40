import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import type { ProgramHints } from '../../../../src/checkout/language.ts';
import { pythonProgram } from '../../../../src/checkout/python/program.ts';
import { judgePython } from '../../../../src/checkout/python/toolchain.ts';
import { directoryWith } from '../../controller/support/places.ts';

const HANDLERS = "import kopf\n\n@kopf.on.create('shops')\ndef f(**_): ...\n";
const ITSELF = 'import kubernetes\nif __name__ == "__main__":\n    main()\n';
const NEVER = new AbortController().signal;

/** A checkout with a virtual environment in which these programs are installed. */
async function checkout(files: Record<string, string>, programs = ['python', 'kopf']): Promise<string> {
  const root = await directoryWith(files);
  await mkdir(join(root, '.venv/bin'), { recursive: true });
  for (const name of programs) {
    await writeFile(join(root, '.venv/bin', name), '#!/bin/sh\necho "Python 3.13.0"\n');
    await chmod(join(root, '.venv/bin', name), 0o755);
  }
  return root;
}

/** The words with which the program starts, given the container's words after its first one; paths of the checkout as `~`. */
async function started(
  root: string,
  hints: Partial<ProgramHints> = {},
  words: string[] = [],
): Promise<string[]> {
  const { run, argumentsIn } = await pythonProgram(new Checkout(root), { directory: '/state', ...hints });
  return [run[0]!, ...argumentsIn!(words)].map((word) => word.replace(root, '~'));
}

const DOCKERFILE =
  'FROM python:3.13\nWORKDIR /app\nCOPY src/ /app/\nENTRYPOINT ["uv", "run", "kopf", "run"]\nCMD ["-A", "/app/main.py"]\n';

test('the command of the container counts, with its paths as they are here', async () => {
  const root = await checkout({ 'src/main.py': HANDLERS, Dockerfile: DOCKERFILE });
  const command = ['kopf', 'run', '/app/main.py', '--verbose'];
  expect(await started(root, { command }, command.slice(1))).toEqual([
    '~/.venv/bin/kopf',
    'run',
    '~/src/main.py',
    '--verbose',
  ]);
});

test("without a command, the image's counts, whose runner is left out", async () => {
  const root = await checkout({ 'src/main.py': HANDLERS, Dockerfile: DOCKERFILE });
  const words = ['run', 'kopf', 'run', '-A', '/app/main.py'];
  expect(await started(root, {}, words)).toEqual(['~/.venv/bin/kopf', 'run', '-A', '~/src/main.py']);
  expect(await pythonProgram(new Checkout(root), { directory: '/state' })).toMatchObject({
    name: 'src/main.py',
    source: expect.stringContaining('Dockerfile'),
  });
});

test.each<[string, Record<string, string>, string[]]>([
  [
    'the only file with handlers',
    { 'shop/handlers.py': HANDLERS },
    ['~/.venv/bin/kopf', 'run', 'shop/handlers.py'],
  ],
  [
    'the file that runs itself',
    { 'handlers.py': HANDLERS, 'main.py': ITSELF },
    ['~/.venv/bin/python', 'main.py'],
  ],
  [
    'the file with a usual name',
    { 'handlers.py': HANDLERS, 'more.py': HANDLERS },
    ['~/.venv/bin/kopf', 'run', 'handlers.py'],
  ],
])('without image and command, %s is the program', async (_, files, expected) => {
  expect(await started(await checkout(files))).toEqual(expected);
});

test('the file that the user names is the program, and another one is an error that names those there are', async () => {
  const root = await checkout({ 'a.py': HANDLERS, 'b.py': HANDLERS, Dockerfile: DOCKERFILE });
  const named = (file: string) => ({ named: { package: file, source: '--package' } });
  expect(await started(root, named('./b.py'), ['-A'])).toEqual(['~/.venv/bin/kopf', 'run', 'b.py']);
  await expect(started(root, named('c.py'))).rejects.toMatchObject({
    code: 'controller.no-main',
    hint: 'devloop up --package a.py\ndevloop up --package b.py',
  });
});

test('several files that could be it are an error with the commands that choose one', async () => {
  const root = await checkout({ 'a.py': HANDLERS, 'b.py': HANDLERS });
  await expect(started(root)).rejects.toMatchObject({
    code: 'controller.no-main',
    hint: expect.stringContaining('devloop up --package a.py\n'),
  });
});

test.each([
  ['uv.lock', 'uv sync'],
  ['poetry.lock', 'poetry install'],
  ['requirements.txt', 'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt'],
])('what is not installed is an error with the command for %s', async (file, hint) => {
  const root = await checkout({ 'main.py': HANDLERS, [file]: '' }, ['python']);
  await expect(started(root)).rejects.toMatchObject({ code: 'controller.no-toolchain', hint });
});

test('a script for a Python that is gone counts as not installed', async () => {
  const root = await checkout({ 'main.py': HANDLERS });
  await writeFile(join(root, '.venv/bin/kopf'), '#!/gone/.venv/bin/python\n');
  await expect(started(root)).rejects.toMatchObject({ code: 'controller.no-toolchain' });
});

test('a module below src is found', async () => {
  const root = await checkout({ 'src/shop/__init__.py': '', 'src/shop/__main__.py': ITSELF });
  const command = ['python', '-m', 'shop'];
  const { ownVariables, name } = await pythonProgram(new Checkout(root), { directory: '/state', command });
  expect(ownVariables).toMatchObject({ PYTHONPATH: join(root, 'src'), PYTHONUNBUFFERED: '1' });
  expect(name).toBe('shop');
});

test('a program that does not start is broken, with what it says', async () => {
  const root = await checkout({ 'main.py': HANDLERS });
  const { preflight } = await pythonProgram(new Checkout(root), { directory: '/state' });
  expect(await preflight(NEVER)).toEqual({ is: 'ready' });
  await writeFile(join(root, '.venv/bin/kopf'), '#!/bin/sh\necho "No module named kopf" >&2\nexit 1\n');
  expect(await preflight(NEVER)).toMatchObject({ is: 'broken', problem: 'No module named kopf' });
});

test('doctor names the Python of the environment', async () => {
  const root = await checkout({ 'main.py': HANDLERS });
  expect(await judgePython(new Checkout(root), { env: {}, signal: NEVER })).toEqual({
    verdict: 'ok',
    answer: 'Python 3.13.0 runs this checkout',
    proof: [join(root, '.venv/bin/python')],
  });
});

test('words of the Deployment that run other code are an error that names them, also later', async () => {
  const root = await checkout({ 'main.py': HANDLERS });
  const refused = { code: 'controller.argument', message: expect.stringContaining('-c') };
  await expect(started(root, { command: ['python', '-c', 'print(1)'] })).rejects.toMatchObject(refused);
  const { argumentsIn } = await pythonProgram(new Checkout(root), {
    directory: '/state',
    command: ['python', 'main.py'],
  });
  expect(() => argumentsIn!(['-c', 'print(1)'])).toThrow(expect.objectContaining(refused));
});

test('a program of the checkout is not started to see whether it starts', async () => {
  const root = await checkout(
    { 'main.py': HANDLERS, 'pyproject.toml': '[project.scripts]\nshop-operator = "main:run"\n' },
    ['python', 'shop-operator'],
  );
  await writeFile(join(root, '.venv/bin/shop-operator'), `#!/bin/sh\ntouch ${root}/started\n`);
  const { preflight } = await pythonProgram(new Checkout(root), {
    directory: '/state',
    command: ['shop-operator'],
  });
  expect(await preflight(NEVER)).toEqual({ is: 'ready' });
  expect(existsSync(join(root, 'started'))).toBe(false);
});

test('the libraries of a virtual environment are no code of the checkout, whatever it is called', async () => {
  const root = await checkout({
    'shop.py': HANDLERS,
    'env/pyvenv.cfg': '',
    'env/lib/python3.13/site-packages/kopf/on.py': HANDLERS,
  });
  expect(await started(root)).toEqual(['~/.venv/bin/kopf', 'run', 'shop.py']);
  const command = ['kopf', 'run', 'env/lib/python3.13/site-packages/kopf/on.py'];
  await expect(started(root, { command })).rejects.toMatchObject({ code: 'controller.argument' });
});
