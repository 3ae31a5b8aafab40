import { execFileSync } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import type { ProgramHints } from '../../../../src/checkout/language.ts';
import { nodeProgram } from '../../../../src/checkout/node/program.ts';
import { judgeNode } from '../../../../src/checkout/node/toolchain.ts';
import { checkoutFacts, languageOf } from '../../../../src/languages.ts';
import { directoryWith, put } from '../../controller/support/places.ts';

const NEVER = new AbortController().signal;
const CLIENT = { '@kubernetes/client-node': '^1.0.0' };
const json = (value: object): string => JSON.stringify(value);
const calling = (more: object = {}): string =>
  json({ name: '@acme/shop-operator', dependencies: CLIENT, ...more });

/** The program of a checkout, with the root as `~`, and its arguments for these words of the container. */
async function started(
  files: Record<string, string>,
  hints: Partial<ProgramHints> = {},
  words: string[] = [],
) {
  const root = await directoryWith(files);
  const found = await nodeProgram(new Checkout(root), { directory: '/state', ...hints });
  const short = (word: string): string => word.replace(root, '~');
  const run = found.run.flatMap((word) => (word === '{args}' ? found.argumentsIn!(words) : [word]));
  const { name, source, build, ownVariables } = found;
  return { name, source, build, run: run.map(short), cwd: short(found.cwd), ownVariables, root, found };
}

const IMAGE = 'FROM node:24\nWORKDIR /app\nCOPY . .\nCMD ["node", "src/main.js", "--log=info"]\n';

test.each<[string, Record<string, string>, Partial<ProgramHints>, string[], string[]]>([
  [
    'the command of the container, whose path is that of the image',
    { 'package.json': calling(), 'src/main.js': '', Dockerfile: IMAGE },
    { command: ['node', '/app/src/main.js'], args: ['--port=1'] },
    ['/app/src/main.js', '--port=1'],
    ['node', '~/src/main.js', '--port=1'],
  ],
  [
    'the arguments of the container, where the image starts them',
    { 'package.json': calling(), 'src/main.js': '' },
    { args: ['node', 'src/main.js', '--port=1'] },
    ['node', 'src/main.js', '--port=1'],
    ['node', '~/src/main.js', '--port=1'],
  ],
  [
    'the CMD of the Dockerfile',
    { 'package.json': calling(), 'src/main.js': '', Dockerfile: IMAGE },
    {},
    ['src/main.js', '--log=info'],
    ['node', '~/src/main.js', '--log=info'],
  ],
  [
    'the script that npm runs, without npm',
    {
      'package.json': calling({ scripts: { serve: 'node --trace-warnings src/main.js --a' } }),
      'src/main.js': '',
    },
    { command: ['npm', 'run', 'serve'], args: ['--', '--b'] },
    ['run', 'serve', '--', '--b'],
    ['node', '--trace-warnings', '~/src/main.js', '--a', '--b'],
  ],
  [
    'scripts.start of the package that calls Kubernetes',
    {
      'package.json': json({ scripts: { start: 'vite' }, workspaces: ['*'] }),
      'operator/package.json': calling({ scripts: { start: 'node main.js' } }),
      'operator/main.js': '',
    },
    {},
    ['--port=1'],
    ['node', '~/operator/main.js', '--port=1'],
  ],
  [
    'main, if there is no script',
    { 'package.json': calling({ main: './lib/main' }), 'lib/main.js': '' },
    {},
    [],
    ['node', '~/lib/main.js'],
  ],
  [
    'the package manager, if only a shell knows what a script starts',
    { 'package.json': calling({ scripts: { start: 'PORT=$PORT node main.js' } }), 'yarn.lock': '' },
    {},
    ['--a'],
    ['yarn', 'run', 'start', '--a'],
  ],
  [
    'the file that the user names',
    { 'package.json': calling({ main: 'a.js' }), 'a.js': '', 'b.js': '' },
    { named: { package: './b.js', source: '--package' }, command: ['node', 'a.js'] },
    ['a.js', '--x'],
    ['node', '~/b.js', '--x'],
  ],
])('the program is %s', async (_, files, hints, words, run) => {
  expect((await started(files, hints, words)).run).toEqual(run);
});

test('a program runs in its package, with the programs of node_modules and the variables of its script', async () => {
  const { cwd, name, root, ownVariables, build } = await started({
    'package.json': '{}',
    'operator/package.json': calling({ scripts: { start: 'NODE_ENV=production node main.js' } }),
    'operator/main.js': '',
  });
  expect({ cwd, name, build }).toEqual({ cwd: '~/operator', name: 'operator/main.js', build: undefined });
  expect(ownVariables).toMatchObject({ NODE_ENV: 'production' });
  expect(ownVariables!.PATH!.split(delimiter).slice(0, 2)).toEqual([
    join(root, 'operator/node_modules/.bin'),
    join(root, 'node_modules/.bin'),
  ]);
});

test('what the compiler writes is built: if it does not exist yet, or if git ignores it', async () => {
  const files = {
    'package.json': calling({ scripts: { build: 'tsc' } }),
    'src/main.ts': '',
    '.gitignore': 'dist\n',
    'pnpm-lock.yaml': '',
    Dockerfile:
      'FROM node AS build\nWORKDIR /app\nCOPY . .\nRUN npm run build\nFROM node\nWORKDIR /srv\nCOPY --from=build /app/dist ./dist\nCMD ["node", "/srv/dist/main.js"]\n',
  };
  const absent = await started(files, {}, ['/srv/dist/main.js']);
  expect(absent).toMatchObject({ run: ['node', '~/dist/main.js'], build: ['pnpm', 'run', 'build'] });
  await put(absent.root, 'dist/main.js', '');
  const again = (): Promise<object> => nodeProgram(new Checkout(absent.root), { directory: '/state' });
  expect(await again()).toMatchObject({ build: undefined });
  execFileSync('git', ['init', '-q'], { cwd: absent.root });
  expect(await again()).toMatchObject({ build: ['pnpm', 'run', 'build'] });
});

test('TypeScript is compiled if package.json has no script for it, also where its output is committed', async () => {
  const files = {
    'package.json': calling({ scripts: { start: 'tsc && node dist/index.js' } }),
    'tsconfig.json': '{\n  // "outDir": "./other",\n  "compilerOptions": {"outDir": "./dist"}\n}\n',
    'src/index.ts': '',
    'dist/index.js': '',
  };
  const { build, run, root } = await started(files);
  expect(build).toEqual([join(root, 'node_modules/.bin/tsc'), '--project', root]);
  expect(run).toEqual(['node', '~/dist/index.js']);
  const { 'dist/index.js': _, ...absent } = files;
  const again = await started({
    ...absent,
    'package.json': calling(),
    Dockerfile: 'FROM node\nCMD ["node", "/app/dist/index.js"]\n',
  });
  expect(again.build?.slice(1)).toEqual(['--project', again.root]);
});

test.each<[string, Record<string, string>, Partial<ProgramHints>, RegExp, string]>([
  [
    'several programs',
    { 'a/package.json': calling({ main: 'a.js' }), 'b/package.json': calling({ main: 'b.js' }) },
    {},
    /a\/a\.js {2}\(main in a\/package\.json\)/,
    'Choose one:\ndevloop up --package a/a.js\ndevloop up --package b/b.js',
  ],
  [
    'no program',
    { 'package.json': calling() },
    {},
    /scripts\.start, bin or main/,
    'devloop up --package FILE',
  ],
  [
    'a file that nothing makes',
    { 'package.json': calling({ main: 'dist/main.js' }) },
    {},
    /dist\/main\.js, which does not exist/,
    'devloop up --package FILE',
  ],
  [
    'a file that is not there',
    { 'package.json': calling({ main: 'a.js' }), 'a.js': '' },
    { named: { package: 'c.js', source: '--package' } },
    /c\.js \(--package\)/,
    'devloop up --package a.js',
  ],
])('%s are an error that says how to choose', async (_, files, hints, message, hint) => {
  await expect(started(files, hints)).rejects.toMatchObject({
    code: 'controller.no-main',
    message: expect.stringMatching(message),
    hint: expect.stringContaining(hint),
  });
});

test.each<[string, string, string]>([
  ['package-lock.json', '', 'npm ci'],
  ['yarn.lock', '', 'yarn install'],
  ['pnpm-lock.yaml', '', 'pnpm install --frozen-lockfile'],
  ['README.md', '', 'npm install'],
  ['operator/package-lock.json', 'operator/', 'cd operator && npm ci'],
])('libraries are not installed: with %s, the hint is its command', async (lock, at, hint) => {
  const { found, root } = await started({
    [`${at}package.json`]: calling({ main: 'main.js' }),
    [`${at}main.js`]: '',
    [lock]: '',
  });
  expect(await found.preflight(NEVER)).toEqual({
    is: 'broken',
    problem: 'node_modules does not contain @kubernetes/client-node.',
    hint,
  });
  // Those of a workspace are in its root.
  await mkdir(join(root, 'node_modules/@kubernetes/client-node'), { recursive: true });
  expect(await found.preflight(NEVER)).toEqual({ is: 'ready' });
});

test.each<[string, Record<string, string>, string | undefined]>([
  ['calls Kubernetes', { 'package.json': calling() }, 'Node'],
  ['is started by its image', { 'package.json': '{}', Dockerfile: IMAGE }, 'Node'],
  ['only builds a website', { 'package.json': json({ scripts: { start: 'vite' } }) }, undefined],
  ['only tests with the client', { 'package.json': json({ devDependencies: CLIENT }) }, undefined],
  [
    'has a website beside another program',
    { 'package.json': '{}', 'web.Dockerfile': IMAGE, Dockerfile: 'FROM scratch\nENTRYPOINT ["/manager"]\n' },
    undefined,
  ],
  ['is one of Go with a website', { 'package.json': calling(), 'go.mod': 'module a\n' }, 'Go'],
])('the language of a checkout that %s', async (_, files, language) => {
  expect((await languageOf(new Checkout(await directoryWith(files))))?.name).toBe(language);
});

test('sources reveal paths in any quotes, the names of packages, and how they connect', async () => {
  const root = await directoryWith({
    'package.json': calling(),
    'src/main.ts': "app.post('/validate-orders', review); config.loadFromCluster();\n",
    'src/other.mjs': 'const path = `/mutate-orders`; // AdmissionReview\n',
  });
  const facts = await checkoutFacts(new Checkout(root));
  expect(facts).toMatchObject({ connectsFromPod: true, declaresWebhooks: true, hasSources: true });
  expect([...facts.paths]).toEqual(['/validate-orders', '/mutate-orders']);
  expect(facts.names).toContain('shop-operator');
});

test('the JavaScript of a website below another operator is not read', async () => {
  const website = { 'ui/package.json': json({ name: 'shop-ui' }), 'ui/main.js': "fetch('/api/orders');\n" };
  const root = await directoryWith({ 'go.mod': 'module example.com/shop\n', ...website });
  const { paths, names } = await checkoutFacts(new Checkout(root));
  expect([...paths]).toEqual([]);
  expect(names).not.toContain('shop-ui');
});

test('doctor compares the Node of the checkout with what package.json asks for', async () => {
  const root = await directoryWith({ 'package.json': json({ engines: { node: '>=99' } }) });
  const asked = { env: { PATH: process.env.PATH }, signal: NEVER };
  expect(await judgeNode(new Checkout(root), asked)).toMatchObject({ verdict: 'warn' });
  const node = await put(root, 'node_modules/.bin/node', '#!/bin/sh\necho v99.1.0\n');
  await chmod(node, 0o755);
  expect(await judgeNode(new Checkout(root), asked)).toMatchObject({
    verdict: 'ok',
    answer: expect.stringContaining('v99.1.0'),
  });
  const none = await directoryWith({ 'package.json': '{}' });
  expect(await judgeNode(new Checkout(none), { ...asked, env: { PATH: '/none' } })).toMatchObject({
    verdict: 'fail',
    code: 'controller.no-toolchain',
  });
});
