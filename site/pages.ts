import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');

/** README's lists of documents: `Use: [Install](docs/install.md) · …`. */
const LISTS = [...textOf('README.md').matchAll(/^(\p{L}+): (\[.+ · .+)$/gmu)].map(
  ([, group = '', links = '']) => ({
    group,
    documents: [...links.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].flatMap(([, name = '', path = '']) => {
      const page = path.endsWith('.md') ? path : `${path}/README.md`;
      return existsSync(join(ROOT, page)) ? [{ name: name.replaceAll('`', ''), page }] : [];
    }),
  }),
);

const NAMES: Record<string, string> = {
  'README.md': 'Overview',
  ...Object.fromEntries(LISTS.flatMap(({ documents }) => documents).map(({ page, name }) => [page, name])),
  'test/bench/README.md': 'How we measure',
};

/** Where a page is that is in none of README's lists. */
const UNLISTED: Record<string, string[]> = {
  Contribute: ['test/cluster/README.md', 'test/bench/README.md'],
};

/** The pages of the site, in the groups of its sidebar. Nothing else is published. */
export const GROUPS: Record<string, string[]> = {
  ...Object.fromEntries(
    LISTS.map(({ group, documents }, at) => [
      group,
      [...(at === 0 ? ['README.md'] : []), ...documents.map(({ page }) => page), ...(UNLISTED[group] ?? [])],
    ]),
  ),
  Decisions: filesIn('docs/adr'),
};

export const PAGES = new Set(Object.values(GROUPS).flat());

export function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** The first heading of a page, without marks of code. */
export function titleOf(page: string): string {
  return /^# (.+)$/m.exec(textOf(page))![1]!.replaceAll('`', '');
}

/** What the sidebar calls a page. */
export function nameOf(page: string): string {
  return NAMES[page] ?? titleOf(page);
}

/** Where the site has a page: `README.md` is the index of its folder, and everything else keeps its place. */
export function placeOf(page: string): string {
  return page.replace(/(^|\/)README\.md$/, '$1index.md');
}

/** The page to which a path of the checkout belongs. Of a folder, that is its README or else its first page. */
export function pageAt(path: string): string | undefined {
  const below = [...PAGES].filter((page) => posix.dirname(page) === path);
  return PAGES.has(path) ? path : (below.find((page) => page.endsWith('README.md')) ?? below[0]);
}

function filesIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md'));
  return names.sort().map((name) => `${folder}/${name}`);
}

/** The anchor that GitHub makes of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
