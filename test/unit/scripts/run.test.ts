import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const SCRIPTS = join(import.meta.dirname, '../../../scripts');

let root: string;

/** A small project with run.mjs, and with an npm and a go that only record that they were called. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'devloop-run-'));
  for (const file of ['run.mjs', 'run-step.mjs', 'run-stamp.mjs'])
    cpSync(join(SCRIPTS, file), join(root, 'scripts', file));
  write('package.json', '{ "type": "module" }');
  write('package-lock.json', '{}');
  write('src/main.ts', '');
  for (const part of ['build-packages', 'build-page', 'build-plugin', 'build-relay', 'release/third-party'])
    write(`scripts/${part}.ts`, '');
  write(
    'scripts/build.ts',
    "import { appendFileSync, mkdirSync } from 'node:fs'; mkdirSync('dist', { recursive: true }); appendFileSync('calls', 'build\\n');",
  );
  write('scripts/demo.ts', 'process.exit(Number(process.argv[2] ?? 0));');
  program(
    'npm',
    `echo "npm $*" >> calls; mkdir -p node_modules/.bin; ln -sf '${process.execPath}' node_modules/.bin/node`,
  );
  program('go', 'exit 0');
});

afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

function program(name: string, script: string): void {
  write(`path/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(join(root, 'path', name), 0o755);
}

function run(...args: string[]): { status: number | null; stderr: string; calls: string[] } {
  rmSync(join(root, 'calls'), { force: true });
  const PATH = [join(root, 'path'), '/usr/bin', '/bin'].join(delimiter);
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/run.mjs'), ...args], {
    cwd: tmpdir(),
    env: { PATH },
    encoding: 'utf8',
  });
  const calls = existsSync(join(root, 'calls'))
    ? readFileSync(join(root, 'calls'), 'utf8').trim().split('\n')
    : [];
  return { status, stderr, calls };
}

const INSTALL = 'npm ci --include=dev --no-audit --no-fund --loglevel=error';

it('installs and builds the first time, and neither the second time', () => {
  expect(run('demo')).toMatchObject({ status: 0, calls: [INSTALL, 'build'] });
  expect(run('demo')).toMatchObject({ status: 0, calls: [] });
});

it('installs nothing again that `npm install` has installed', () => {
  const packages = { '': {}, 'node_modules/a': { version: '1.0.0' } };
  const elsewhere = { 'node_modules/b': { version: '1.0.0', optional: true } };
  write('package-lock.json', JSON.stringify({ packages: { ...packages, ...elsewhere } }));
  write('node_modules/.package-lock.json', JSON.stringify({ packages }));
  mkdirSync(join(root, 'node_modules/.bin'));
  symlinkSync(process.execPath, join(root, 'node_modules/.bin/node'));
  expect(run('demo')).toMatchObject({ status: 0, calls: ['build'] });
  write('package-lock.json', JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.1' } } }));
  expect(run('demo').calls).toContain(INSTALL);
});

it('installs again when the lock file changed', () => {
  run('demo');
  write('package-lock.json', '{ "packages": {} }');
  expect(run('demo').calls).toContain(INSTALL);
});

it('builds again when the content of a source file changed, or a file was added or renamed', () => {
  run('demo');
  write('src/main.ts', 'export {};');
  expect(run('demo').calls).toEqual(['build']);
  write('src/cli/up.ts', '');
  expect(run('demo').calls).toEqual(['build']);
  utimesSync(join(root, 'src/main.ts'), 0, 0);
  expect(run('demo').calls).toEqual([]);
});

it('stamps nothing that failed', () => {
  write('scripts/build.ts', 'process.exit(3);');
  expect(run('demo').status).toBe(3);
  expect(run('demo')).toMatchObject({ status: 3, calls: [] });
  program('npm', 'exit 9');
  rmSync(join(root, 'node_modules'), { recursive: true });
  expect(run('demo').status).toBe(9);
});

it('passes arguments and the exit code on', () => {
  expect(run('demo', '7').status).toBe(7);
});

it('passes a signal on, and waits for the child to end', async () => {
  run('demo');
  write(
    'scripts/demo.ts',
    "process.on('SIGTERM', () => setTimeout(() => { console.log('put back'); process.exit(0); }, 200)); console.log('up'); setInterval(() => {}, 1000);",
  );
  const PATH = [join(root, 'path'), '/usr/bin', '/bin'].join(delimiter);
  const child = spawn(process.execPath, [join(root, 'scripts/run.mjs'), 'demo'], {
    env: { PATH },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  await expect.poll(() => output, { timeout: 10_000 }).toBe('up\n');
  child.kill('SIGTERM');
  const [code] = await once(child, 'close');
  expect({ code, output }).toEqual({ code: 143, output: 'up\nput back\n' });
});

it('says how to get Go before it installs anything', () => {
  program('go', 'exit 127');
  const { status, stderr, calls } = run('demo');
  expect({ status, calls }).toEqual({ status: 2, calls: [] });
  expect(stderr).toMatch(/go\.dev\/dl/);
});

it('ends what is kept without Go and without a build', () => {
  program('go', 'exit 127');
  write('scripts/build.ts', 'process.exit(3);');
  write('scripts/demo.ts', "process.exit(process.argv.includes('--stop') ? 7 : 0);");
  expect(run('demo', '--stop')).toMatchObject({ status: 7, calls: [INSTALL] });
  expect(run('demo', '--stop')).toMatchObject({ status: 7, calls: [] });
  expect(run('demo', '--help')).toMatchObject({ status: 0, calls: [] });
  expect(run('demo').status).toBe(2);
});

it('says how long a silent step has taken so far', () => {
  const file = pathToFileURL(join(root, 'scripts/run-step.mjs')).href;
  const script = `import { step } from '${file}'; await step('types', 'sleep', ['0.5'], { sayEveryMs: 50 }); process.exit();`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(stderr).toMatch(/^> types\n> types: 0\.\d s so far\n/);
});

it('refuses what it does not know', () => {
  expect(run('dmeo')).toMatchObject({ status: 2, calls: [] });
});
