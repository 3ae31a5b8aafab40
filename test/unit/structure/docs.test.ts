import { readFileSync } from 'node:fs';
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
