import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

test('the package contains the parser of Go, so users install nothing else', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'];
  const packed = execFileSync('npm', args, {
    // npm's cache of compiled code stays in the directory for temporary files.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for (const file of ['web-tree-sitter.wasm', 'tree-sitter-go.wasm'])
    expect(packed).toContain(`"dist/${file}"`);
  expect(packed).not.toContain('"site/');
  // What the build and npm scripts keep for themselves.
  expect(packed).not.toContain('"dist/.');
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies?: unknown;
  };
  expect(dependencies).toBeUndefined();
});
