import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build, transform } from 'esbuild';
import { COMMONJS } from '../build-plugin.ts';
import { LICENCES } from './third-party.ts';

/** Nothing can be there, so whatever the program looks for beside itself, it does not find on the disk. */
const NOWHERE = '/dev/null/devloop/dist';
const SCRIPTS = join(import.meta.dirname, 'executable');

/** The files of dist/ that are code, and those that the program reads. */
export function programFiles(dist: string): { code: string[]; data: string[] } {
  const files = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(dist.length + 1))
    // The archive has the licences beside the executable.
    .filter((file) => !/^\.|^release\//.test(file) && file !== LICENCES)
    .sort();
  const isCode = (file: string): boolean => /^[^/]+\.js$/.test(file);
  return { code: files.filter(isCode), data: files.filter((file) => !isCode(file)) };
}

/** All of esbuild's dynamic imports are like this. They become calls of what `start` gives each file. */
const DYNAMIC_IMPORT = /(?<![\w$.])import\((?=")/g;

/**
 * Writes what an executable contains of dist/. It cannot load ES modules from its assets, so each file of the build becomes a CommonJS
 * module; apart from that, the program is the same.
 */
export async function writeProgram(dist: string, to: string): Promise<{ code: string[]; data: string[] }> {
  const files = programFiles(dist);
  mkdirSync(to, { recursive: true });
  for (const file of files.data) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    copyFileSync(join(dist, file), join(to, file));
  }
  for (const file of files.code)
    writeFileSync(join(to, file), await asCommonJs(file, readFileSync(join(dist, file), 'utf8')));
  return files;
}

async function asCommonJs(file: string, text: string): Promise<string> {
  const { code } = await transform(text.replace(COMMONJS, '').replace(DYNAMIC_IMPORT, '$import('), {
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    supported: { using: true },
    define: {
      'import.meta.dirname': JSON.stringify(NOWHERE),
      'import.meta.url': JSON.stringify(`file://${NOWHERE}/${file}`),
    },
  });
  return `(function (exports, require, module, $import) {const __dirname = ${JSON.stringify(NOWHERE)};${code}\n})`;
}

/** Writes main.cjs, the main script of the executables, and train.cjs, which makes V8 compile the program. */
export async function writeScripts(version: string, to: string): Promise<void> {
  await build({
    entryPoints: ['main', 'train'].map((name) => join(SCRIPTS, `${name}.ts`)),
    outdir: to,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    define: { DEVLOOP_VERSION: JSON.stringify(version) },
    logLevel: 'warning',
  });
}
