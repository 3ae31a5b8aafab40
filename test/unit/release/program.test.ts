import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compile } from '../../../scripts/release/code-cache.ts';
import { asCommand } from '../../../scripts/release/executable/start.ts';
import { programFiles, writeProgram, writeScripts } from '../../../scripts/release/program.ts';

const DIST = join(import.meta.dirname, '../../../dist');

let work: string;

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'program-'));
  await writeProgram(DIST, join(work, 'program'));
  await writeScripts('1.2.3', work);
  await mkdir(join(work, 'caches'));
});
afterAll(() => rm(work, { recursive: true }));

/** Runs devloop as an executable does, with the files in place of its assets. */
async function run(...words: string[]): Promise<string> {
  const { stdout } = await devloop(...words);
  return stdout;
}

function devloop(...words: string[]): Promise<{ stdout: string; stderr: string }> {
  const options = { cwd: work, env: { HOME: work, PATH: '/nonexistent' } };
  return promisify(execFile)(process.execPath, ['train.cjs', 'program', 'caches', ...words], options);
}

test('an executable has every file that the program reads, and nothing else of the build', () => {
  expect(programFiles(DIST).data).toEqual([
    'help.txt',
    'page/icon.svg',
    'page/index.html',
    'page/page.css',
    'page/page.js',
    'relay.cjs',
    'tree-sitter-go.wasm',
    'web-tree-sitter.wasm',
    'zz_devloop.go.txt',
    'zz_devloop_ids.go.txt',
  ]);
});

test('the program of an executable prints its version and its help, and runs a command again with what was compiled before', async () => {
  expect(await run('--version')).toBe('1.2.3\n');
  expect(await run('--help')).toMatch(/^Usage: devloop /);
  const first = await run('config');
  expect(first).toContain('controller.graceSeconds');
  const caches = await readdir(join(work, 'caches'));
  expect(caches).toContain('main.js.cache');
  expect(await run('config')).toBe(first);
});

test('the program of an executable reads Go, although it has its parser from no file', async () => {
  await writeFile(
    join(work, 'go.mod'),
    'module example.com/operator\n\nrequire sigs.k8s.io/controller-runtime v0.24.1\n',
  );
  await writeFile(
    join(work, 'main.go'),
    'package main\n\nimport _ "sigs.k8s.io/controller-runtime"\n\nfunc main() {}\n',
  );
  const { stderr } = (await devloop('doctor').catch((error) => error)) as { stderr: string };
  expect(stderr).not.toContain('This is a bug');
  expect(await readdir(join(work, 'caches'))).toContainEqual(expect.stringMatching(/^web-tree-sitter-/));
});

test('an executable that kubectl starts to complete `kubectl devloop` offers words, and prints no version', () => {
  const node = '/usr/bin/devloop';
  const name = '/bin/kubectl_complete-devloop';
  expect(asCommand([node, name, '--version'])).toEqual([node, name, '__complete', '--', '--version']);
  for (const other of ['devloop', '/kubectl_complete-devloop/devloop', '/bin/kubectl-devloop'])
    expect(asCommand([node, other, 'up'])).toEqual([node, other, 'up']);
});

test('the program of an executable runs its own scripts, and loads no package from the disk', async () => {
  await mkdir(join(work, 'node_modules/cpu-features'), { recursive: true });
  await writeFile(join(work, 'node_modules/cpu-features/index.js'), 'console.log("from the disk")');
  const load =
    "console.log(process.argv.slice(1).join()); try { require('cpu-features') } catch ({ code }) { console.log(code) }";
  expect(await run('--run-script', load, 'a', 'b')).toBe('a,b\nMODULE_NOT_FOUND\n');
});

test('an executable does not name a document as if the checkout had it', async () => {
  await writeFile(join(work, 'devloop.yaml'), 'nothing: true\n');
  const { stderr } = (await devloop('config').catch((error) => error)) as { stderr: string };
  await rm(join(work, 'devloop.yaml'));
  expect(stderr).toContain('docs/guide.md in the sources of devloop');
});

test('V8 compiles the program of an executable to the same bytes each time', async () => {
  const [first, second] = ['first', 'second'].map((name) => compile([process.execPath], work, name)) as [
    string,
    string,
  ];
  const files = await readdir(first);
  expect(files).toContain('main.js.cache');
  expect(await readdir(second)).toEqual(files);
  for (const file of files)
    expect((await readFile(join(first, file))).equals(await readFile(join(second, file))), file).toBe(true);
});
