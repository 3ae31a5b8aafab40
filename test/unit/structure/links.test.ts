import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { anchorOf } from '../../../site/pages.ts';

const ROOT = join(import.meta.dirname, '../../..');

it('has no link in a document that leads to no file or no heading', () => {
  const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'test/**/*.md', '.github/**/*.md'], {
    cwd: ROOT,
  });
  expect(pages.length).toBeGreaterThan(50);
  expect(pages.flatMap((page) => deadLinks(page, prose(page)))).toEqual([]);
});

it('sees dead links', () => {
  const links = [
    '[a](CHANGELOG.md)',
    '[b](docs/guide.md#after-a-crash)',
    '[c](gone.md)',
    '[d](docs/guide.md#gone)',
  ];
  expect(deadLinks('README.md', links.join(' '))).toEqual([
    'README.md: gone.md',
    'README.md: docs/guide.md#gone',
  ]);
});

function deadLinks(page: string, text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map(
    ([, one, other]) => one ?? other!,
  );
  return links
    .filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link))
    .map((link) => `${page}: ${link}`);
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path, anchor] = link.split('#') as [string, string?];
  const file = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || anchors(file).has(anchor);
}

/** The anchors of a page's headings, on GitHub and on the site. */
function anchors(page: string): Set<string> {
  const found = new Set<string>();
  for (const [, heading] of prose(page).matchAll(/^#+ (.*)$/gm)) {
    const anchor = anchorOf(heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
    let unique = anchor;
    for (let count = 1; found.has(unique); count += 1) unique = `${anchor}-${count}`;
    found.add(unique);
  }
  return found;
}

function prose(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
}
