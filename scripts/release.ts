import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contents } from './release/contents.ts';
import { executables } from './release/executables.ts';
import { files } from './release/files.ts';
import { downloadNodes } from './release/nodes.ts';
import { npmPackage } from './release/npm-package.ts';
import type { Release, Step } from './release/step.ts';

/** In this order. A step can use what those before it have written to dist/release. */
const STEPS: Step[] = [contents, npmPackage, executables, files];

const ROOT = join(import.meta.dirname, '..');
const MB = 1e6;

await release();

/** `npm run release` writes everything that is published to dist/release (docs/adr/0048). */
async function release(): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const out = join(ROOT, 'dist/release');
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'devloop-release-'));
  try {
    const nodes = await timed('Node of each platform', () => downloadNodes({ root: ROOT, work }));
    const release: Release = { root: ROOT, version, out, work, nodes, say };
    for (const { name, run } of STEPS) await timed(name, () => run(release));
  } finally {
    rmSync(work, { recursive: true });
  }
  for (const file of filesIn(out)) {
    say(`${(statSync(join(out, file)).size / MB).toFixed(1).padStart(6)} MB  dist/release/${file}`);
  }
}

async function timed<T>(name: string, run: () => T | Promise<T>): Promise<T> {
  say(`${name} …`);
  const started = performance.now();
  const made = await run();
  say(`${name}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return made;
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(join(directory, file)).isFile())
    .sort();
}

function say(text: string): void {
  console.error(`> release: ${text}`);
}
