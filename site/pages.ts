import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');

/** The pages of the site, in the groups of its sidebar. Nothing else is published. */
export const GROUPS: Record<string, string[]> = {
  Start: [
    ...['README.md', 'docs/install.md', 'docs/first-webhook.md', 'docs/from-make-run.md'],
    ...['docs/from-telepresence-or-mirrord.md', 'examples/application-operator/README.md'],
  ],
  Use: ['docs/guide.md', 'docs/commands.md', 'docs/routes.md', 'docs/troubleshooting.md'],
  Clusters: ['docs/local-clusters.md', 'docs/remote-clusters.md', 'docs/dev-containers.md', 'docs/ci.md'],
  Reference: [
    ...['docs/changes.md', 'docs/permissions.md'],
    ...['docs/errors.md', 'docs/events.md', 'docs/notices.md'],
  ],
  Trust: [
    'docs/security.md',
    'SECURITY.md',
    'docs/reliability.md',
    'docs/benchmarks.md',
    'docs/operators.md',
  ],
  Project: [
    ...['CHANGELOG.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md', 'docs/architecture.md'],
    ...['test/cluster/README.md', 'test/bench/README.md'],
  ],
  中文: ['README.zh-CN.md', 'docs/by-hand.zh-CN.md'],
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
