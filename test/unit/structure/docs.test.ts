import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generateDocs, parseUnion } from '../../../scripts/generate-docs.ts';

const ROOT = join(import.meta.dirname, '../../..');

it.each(Object.entries(generateDocs()))('%s is what `npm run docs` makes of the code', (path, text) => {
  expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
});

it('knows every event, also one that is formatted over several lines', () => {
  const source = readFileSync(join(ROOT, 'src/report/events.ts'), 'utf8');
  const names = [...source.matchAll(/\{\s*type: '([^']+)'/g)].map(([, name]) => name);
  expect(parseUnion(source).map(({ type }) => type)).toEqual(names);
  const long =
    "export type DevloopEvent =\n  /** About\n   * a. */\n  | {\n      type: 'a';\n      b: 'x' | null;\n    }\n  | { type: 'c' };\n";
  expect(parseUnion(long)).toEqual([
    { type: 'a', about: 'About a.', fields: [{ name: 'b', type: "'x' | null", about: '' }] },
    { type: 'c', about: '', fields: [] },
  ]);
});

it('names the needed Go version in one sentence, the same everywhere', () => {
  const files = ['README.md', 'CONTRIBUTING.md', 'scripts/run.mjs', 'test/cluster/prerequisites.ts'];
  const named = files.map((file) =>
    readFileSync(join(ROOT, file), 'utf8').match(/[^.'`]*Go 1\.\d+[^'`\s]*[^'`]*?\/dl/g),
  );
  expect(named.map((all) => all?.map((text) => text.trim()))).toEqual(
    files.map(() => ['You need Go 1.26 or newer: https://go.dev/dl']),
  );
});

it('installs every document that an error names', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] };
  expect(files).toContain('docs/*.md');
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  );
  const named = sources.flatMap((text) =>
    [...text.matchAll(/documentPath\('([^']+)'\)/g)].map(([, name]) => name!),
  );
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) expect(existsSync(join(ROOT, 'docs', name)), name).toBe(true);
});
