import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asOnGitHub } from '../markdown.ts';
import { anchorOf, GROUPS, nameOf, PAGES, placeOf, ROOT } from '../pages.ts';

const { description, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  description: string;
  version: string;
};

/** The sidebar opens a group by a click if it has more pages than this. */
const MOST_OPEN = 20;

/** The server that renders the pages runs here, but Vite looks for its packages where the pages are. */
const vueOfTheSite = {
  name: 'vue-of-the-site',
  enforce: 'pre',
  resolveId: (id: string, _: unknown, { ssr }: { ssr?: boolean }) =>
    ssr && /^vue($|\/)/.test(id) ? { id, external: true } : null,
};

// The functions of the search also run in the browser, so they use nothing of this file.
const options = {
  /** Chinese has no spaces between words: each two characters are one. */
  tokenize: (text: string) =>
    (text.match(/\p{sc=Han}+|[^\p{sc=Han}\p{Z}\p{P}\n\r]+/gu) ?? []).flatMap((run) =>
      /\p{sc=Han}{3}/u.test(run)
        ? Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2))
        : run,
    ),
};
const searchOptions = {
  // A short word is seldom a mistake for another one: helm, held.
  fuzzy: (word: string) => (word.length > 5 ? 0.2 : false),
  boostDocument: (id: string, word: string) => {
    // Who writes in Latin letters looks for English, in which the same is said.
    if (/zh-CN/.test(id) && !/\p{sc=Han}/u.test(word)) return 0.05;
    // Decisions, changes and tests of the past explain what a page for users says better.
    return /\/adr\/|CHANGELOG|\/test\//.test(id) ? 0.4 : 1;
  },
};

interface Rendered {
  pageData: { frontmatter: { language?: string } };
}

export default {
  title: 'devloop',
  description,
  srcDir: '..',
  srcExclude: markdownIn('').filter((file) => !PAGES.has(file)),
  // No icon: a browser would otherwise ask for one.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  rewrites: Object.fromEntries([...PAGES].map((page) => [page, placeOf(page)])),
  // Not VitePress's locales: with these, a search finds nothing in the documents of the other language.
  transformPageData: ({ relativePath }: { relativePath: string }) => ({
    frontmatter: { language: /\.(zh-CN)\.md$/.exec(relativePath)?.[1] },
  }),
  transformHtml: (html: string, _: string, { pageData: { frontmatter } }: Rendered) =>
    frontmatter.language && html.replace(/(<html lang=")[^"]+/, `$1${frontmatter.language}`),
  markdown: {
    anchor: { slugify: anchorOf },
    // Braces in the text are no attributes.
    attrs: { disable: true },
    config: asOnGitHub,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
  },
  vite: {
    // With this target, esbuild has nothing to translate, which it refuses for older browsers.
    // The index of the search is one chunk.
    build: { target: 'es2022', chunkSizeWarningLimit: 1_000 },
    plugins: [vueOfTheSite],
  },
  themeConfig: {
    nav: [
      ...['docs/guide.md', 'docs/commands.md', 'docs/troubleshooting.md'].map(entryOf),
      { ...entryOf('README.zh-CN.md'), text: '简体中文' },
      { ...entryOf('CHANGELOG.md'), text: version },
    ],
    sidebar: Object.entries(GROUPS).map(([text, pages]) => ({
      text,
      items: pages.map(entryOf),
      ...(pages.length > MOST_OPEN ? { collapsed: true, link: entryOf(pages[0]!).link } : {}),
    })),
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { miniSearch: { options, searchOptions } } },
  },
};

function entryOf(page: string): { text: string; link: string } {
  return { text: nameOf(page), link: `/${placeOf(page).replace(/(index)?\.md$/, '')}` };
}

/** Every Markdown file below a folder of the checkout. */
function markdownIn(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(?:\.|node_modules$|dist$)/.test(entry.name) ? [] : markdownIn(path);
    return path.endsWith('.md') ? [path] : [];
  });
}
