// `npm run demo`, `npm test`, `npm run soak`, `npm run bench` and `npm run release` start here, even in a fresh clone. So this file needs only Node 20 and
// no packages. It installs and builds what is missing; everything after that runs on the Node version in package-lock.json.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashOf, hasStamp, writeStamp } from './run-stamp.mjs';
import { fail, requiredStep, step } from './run-step.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');
const NODE = join(MODULES, '.bin', 'node');
/** How often a step that prints nothing on its own is reported. */
const SAY_EVERY_MS = 4_500;
const BUILT_FROM = [
  'src',
  'scripts/build.ts',
  'scripts/build-packages.ts',
  'scripts/build-page.ts',
  'scripts/build-plugin.ts',
  'scripts/build-relay.ts',
  'scripts/release/third-party.ts',
  'package.json',
  'package-lock.json',
];

const child = {
  cwd: ROOT,
  env: { ...process.env, PATH: `${join(MODULES, '.bin')}${delimiter}${process.env.PATH}` },
};
const kinds = {
  test,
  demo: () => node('demo', 'scripts/demo.ts'),
  soak: () => vitest('soak', '--config', 'vitest.soak.config.ts'),
  bench: () => node('bench', 'test/bench/bench.ts'),
  release: () => node('release', 'scripts/release.ts'),
};

const [kind = '', ...args] = process.argv.slice(2);
if (!Object.hasOwn(kinds, kind)) fail(`Expected one of ${Object.keys(kinds).join(', ')}; got '${kind}'.`);
if (!runsNothing() && kind !== 'release') checkGo();
await install();
if (!runsNothing()) await build();
process.exit(await kinds[kind]());

/** `npm run demo -- --stop` deletes what is kept, and works even if the sources do not build. */
function runsNothing() {
  return kind === 'demo' && args.some((arg) => ['--stop', '--help', '-h'].includes(arg));
}

function checkGo() {
  if (spawnSync('go', ['version'], { stdio: 'ignore' }).status === 0) return;
  fail('You need Go 1.26 or newer: https://go.dev/dl\nThere is no `go` on the PATH.');
}

async function install() {
  const stamp = join(MODULES, '.stamp');
  const hash = hashOf(ROOT, ['package-lock.json'], process.platform, process.arch);
  if (hasStamp(stamp, hash)) return;
  // `npm install` has already installed the same packages.
  if (existsSync(NODE) && isInstalled()) return writeStamp(stamp, hash);
  // All tools are devDependencies, which npm leaves out if NODE_ENV=production.
  await requiredStep(
    'install packages',
    'npm',
    ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: ROOT, sayEveryMs: SAY_EVERY_MS },
  );
  if (!existsSync(NODE))
    fail(
      'npm did not install its newer Node into node_modules. Are optional packages left out? Check with: npm config get omit',
    );
  writeStamp(stamp, hash);
}

/** Whether node_modules holds just what the lock file names, apart from packages for other platforms. */
function isInstalled() {
  const packagesIn = (file) => {
    try {
      return Object.entries(JSON.parse(readFileSync(file, 'utf8')).packages).filter(([name]) => name !== '');
    } catch {
      return [];
    }
  };
  const installed = new Map(packagesIn(join(MODULES, '.package-lock.json')));
  const locked = packagesIn(join(ROOT, 'package-lock.json'));
  return (
    locked.length > 0 &&
    locked.every(([name, { version, optional }]) => {
      const found = installed.get(name);
      return found === undefined ? optional === true : found.version === version;
    })
  );
}

async function build() {
  const stamp = join(ROOT, 'dist', '.stamp');
  const hash = hashOf(ROOT, BUILT_FROM);
  if (hasStamp(stamp, hash)) return;
  await requiredStep('build', NODE, ['scripts/build.ts'], child);
  writeStamp(stamp, hash);
}

/** With arguments, runs only vitest. Without, runs every check and returns the first exit code that is not 0. */
async function test() {
  if (args.length > 0) return await vitest('tests');
  const tsc = ['node_modules/typescript/bin/tsc', '--noEmit'];
  const codes = [
    await check('types', ...tsc),
    await check('types of the page', ...tsc, '-p', 'src/page/client'),
    await check('lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'),
  ];
  codes.push(await vitest('tests'));
  return codes.find((code) => code !== 0) ?? 0;
}

function vitest(title, ...options) {
  return node(title, 'node_modules/vitest/vitest.mjs', 'run', ...options);
}

function check(title, ...rest) {
  return step(title, NODE, rest, { ...child, sayEveryMs: SAY_EVERY_MS });
}

function node(title, script, ...rest) {
  return step(title, NODE, [script, ...rest, ...args], child);
}
