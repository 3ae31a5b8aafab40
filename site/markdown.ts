import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pageAt, placeOf, ROOT } from './pages.ts';

/** What is used here of markdown-it, which only the packages of the site contain. */
interface Token {
  type: string;
  tag: string;
  content: string;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

interface MarkdownIt {
  linkify: { set(options: object): void };
  core: { ruler: { push(name: string, rule: (state: State) => void): void } };
}

interface State {
  tokens: Token[];
  env: { relativePath?: string };
  Token: new (type: string, tag: string, nesting: number) => Token;
}

/** Makes what the Markdown says to GitHub true on the site. */
export function asOnGitHub(md: MarkdownIt): void {
  // Names of files, such as main.py, are no links.
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  md.core.ruler.push('as-on-github', ({ tokens, env, Token }) => {
    const folder = posix.dirname(env.relativePath ?? '');
    for (const token of tokens) {
      if (token.type === 'html_block') token.content = withPictures(token.content);
      if (token.children) token.children = withLinks(token.children, folder, Token);
      token.children?.filter(isCode).forEach((code) => void code.attrSet('v-pre', ''));
    }
  });
  md.core.ruler.push('tables', ({ tokens }) => nameCells(tokens));
  md.core.ruler.push('no-contents', ({ tokens }) => dropContents(tokens));
}

/** Vue would fill in what is between two braces. */
function isCode({ type }: Token): boolean {
  return type === 'code_inline';
}

/** Each cell knows the head of its column, because on a narrow screen a row is a list of its cells. */
function nameCells(tokens: Token[]): void {
  let heads: string[] = [];
  let column = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'thead_open') heads = [];
    if (token.type === 'tr_open') column = 0;
    if (token.type === 'th_open') heads.push(tokens[index + 1]!.content.replaceAll('`', ''));
    if (token.type === 'td_open') token.attrSet('data-head', heads[column++] ?? '');
    // A head without text is none.
    const beside = { th_open: 1, th_close: -1 }[token.type];
    if (beside !== undefined && tokens[index + beside]!.content === '') token.tag = 'td';
  }
}

/** The site has the list of a page's sections beside the page, so it need not begin with one. */
function dropContents(tokens: Token[]): void {
  const begin = tokens.findIndex(({ type }) => type === 'heading_close') + 1;
  if (tokens[begin]?.type !== 'bullet_list_open') return;
  const end = tokens.findIndex(({ type }) => type === 'bullet_list_close');
  const items = tokens.slice(begin, end).filter(({ type }) => type === 'inline');
  if (items.every(({ content }) => /^\[.+\]\(#[^)]+\)$/.test(content))) tokens.splice(begin, end + 1 - begin);
}

/** Points links to where the site has the page. What is only in the checkout is named instead, as it has no address. */
function withLinks(tokens: Token[], folder: string, Token: State['Token']): Token[] {
  const made = (type: string, tag: string, content: string): Token =>
    Object.assign(new Token(type, tag, 0), { content });
  let away: string | undefined;
  return tokens.flatMap((token) => {
    const href = token.type === 'link_open' ? token.attrGet('href') : null;
    if (href !== null) {
      const to = leadsTo(href, folder);
      away = to.away;
      if (to.href !== undefined) token.attrSet('href', to.href);
      return away === undefined ? [token] : [];
    }
    if (token.type !== 'link_close' || away === undefined) return [token];
    // Every checkout has its licence at the top.
    return away === 'LICENSE' ? [] : [made('text', '', ' '), made('code_inline', 'code', away)];
  });
}

function leadsTo(link: string, folder: string): { href?: string; away?: string } {
  const [, path = '', anchor = ''] = /^([^#]*)(.*)$/.exec(link)!;
  if (path === '' || /^[a-z]+:/.test(path)) return {};
  const target = posix.join(folder, path).replace(/\/$/, '');
  if (!existsSync(join(ROOT, target))) throw new Error(`A link leads to ${target}, which does not exist.`);
  const page = pageAt(target);
  if (page === undefined) return { away: target };
  return { href: `${posix.relative(folder, placeOf(page))}${anchor}` };
}

/** The site has a switch of its own between light and dark, so both pictures are there, and its style shows one. */
function withPictures(html: string): string {
  return html.replaceAll(
    /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img alt="([^"]+)" src="([^"]+)">\s*<\/picture>/g,
    (_, dark: string, alt: string, light: string) =>
      `<img class="light-only" alt="${alt}" src="./${light}" loading="lazy"><img class="dark-only" alt="${alt}" src="./${dark}" loading="lazy">`,
  );
}
