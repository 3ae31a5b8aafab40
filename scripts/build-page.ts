import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build, type Metafile } from 'esbuild';

const CLIENT = join(import.meta.dirname, '..', 'src/page/client');

/** The program that runs in the browser, its style, and the document that loads both. */
export async function buildPage(directory: string): Promise<Metafile> {
  const { metafile } = await build({ ...pageProgram(directory), metafile: true });
  mkdirSync(directory, { recursive: true });
  for (const file of ['index.html', 'icon.svg']) copyFileSync(join(CLIENT, file), join(directory, file));
  return metafile;
}

/** A node: module in it is an error, because a browser has none. */
export function pageProgram(outdir: string): BuildOptions {
  return {
    absWorkingDir: join(CLIENT, '../../..'),
    entryPoints: [
      { in: join(CLIENT, 'main.tsx'), out: 'page' },
      { in: join(CLIENT, 'page.css'), out: 'page' },
    ],
    outdir,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2023', 'chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  };
}
