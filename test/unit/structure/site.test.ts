import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { anchorOf, GROUPS, PAGES, pageAt, placeOf, ROOT, titleOf } from '../../../site/pages.ts';

it('has each document once in the sidebar of the site, which has no others (site/pages.ts)', () => {
  const documents = globSync(['*.md', 'docs/**/*.md', 'examples/*/*.md', 'test/*/*.md'], { cwd: ROOT });
  expect(documents.length).toBeGreaterThan(60);
  expect(Object.values(GROUPS).flat().sort()).toEqual(documents.sort());
  expect([...PAGES].filter((page) => !existsSync(join(ROOT, page)) || titleOf(page) === '')).toEqual([]);
});

it('finds the page of a path, and its place on the site', () => {
  expect(pageAt('docs/guide.md')).toBe('docs/guide.md');
  expect(pageAt('examples/application-operator')).toBe('examples/application-operator/README.md');
  expect(pageAt('docs/adr')).toMatch(/^docs\/adr\/0001-/);
  expect(pageAt('LICENSE')).toBeUndefined();
  expect(['README.md', 'test/bench/README.md', 'docs/guide.md'].map(placeOf)).toEqual([
    ...['index.md', 'test/bench/index.md', 'docs/guide.md'],
  ]);
  expect(anchorOf('Without a cluster: `up --embedded`')).toBe('without-a-cluster-up---embedded');
});
