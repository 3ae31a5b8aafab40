import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, expect, it } from 'vitest';
import { PAGES, placeOf, ROOT, titleOf } from '../../site/pages.ts';
import { expectAccessible } from '../support/accessible.ts';
import { type Browser, startBrowser, type Tab } from '../support/browser.ts';

let site: string;
let browser: Browser;

/** Its build, which fails for a dead link, is in setup.ts. */
beforeAll(async () => {
  const server = spawn(process.execPath, [join(ROOT, 'site/serve.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(server, 'close');
  for await (const line of createInterface({ input: server.stdout })) {
    site = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? '';
    if (site !== '') break;
  }
  browser = await startBrowser();
  return async () => {
    await browser[Symbol.asyncDispose]();
    server.kill();
    await closed;
  };
});

it('shows each document with its title, needs no other machine, and complains about nothing', async () => {
  const tab = await browser.open();
  for (const page of PAGES) {
    await open(tab, page);
    expect(await tab.evaluate('document.querySelector("main h1").innerText.trim()'), page).toContain(
      titleOf(page),
    );
    const requests = await tab.evaluate<string[]>(
      'performance.getEntriesByType("resource").map(({ name }) => name)',
    );
    expect(requests.length, page).toBeGreaterThan(3);
    expect(
      requests.filter((url) => !url.startsWith(site) && !url.startsWith('data:')),
      page,
    ).toEqual([]);
    expect(await tab.evaluate('document.documentElement.lang'), page).toBe(
      page.includes('zh-CN') ? 'zh-CN' : 'en-US',
    );
    expect(tab.complaints, page).toEqual([]);
  }
  await open(tab, 'README.md');
  // It is no page, and has no address anywhere.
  expect(
    await tab.evaluate(
      '[...document.querySelectorAll("main a")].filter((a) => /LICENSE/.test(a.href)).length',
    ),
  ).toBe(0);
  expect(await tab.evaluate('document.querySelector("main").innerText')).toMatch(/Apache-2\.0$/m);
  await tab.click('.VPNavBarMenu a[href*="zh-CN"]');
  await tab.until('document.documentElement.lang === "zh-CN"');
});

it.each([
  ['vim Neovim', 'docs/guide.html#vim-and-neovim', 'Guide'],
  ['反向隧道', 'docs/by-hand.zh-CN.html#', 'Webhook'],
  // Two words that the Chinese README has as well.
  ['Docker root', 'docs/dev-containers.html#', 'Dev containers'],
])('finds the section about %s, without a server that searches', async (words, place, title) => {
  const tab = await browser.open();
  await open(tab, 'README.md');
  await tab.click('.DocSearch-Button');
  await tab.until('document.activeElement.id === "localsearch-input"');
  await tab.type(words);
  await tab.until(`document.querySelector("#localsearch-list .result").href.startsWith("${site}/${place}")`);
  await tab.press('Enter');
  await tab.until(
    `decodeURI(location.href).startsWith("${site}/${place}") && document.querySelector("main h1").innerText.includes("${title}")`,
  );
  expect(tab.complaints).toEqual([]);
});

const LOOKS = (['light', 'dark'] as const).flatMap((scheme) =>
  [375, 1280].map((width) => ({ scheme, width })),
);

/** The tables and codes that one would have to scroll to the side. */
const CUT_OFF = `[...document.querySelectorAll("main table, main pre, main pre code, .outline-link")]
  .filter((it) => it.scrollWidth > it.clientWidth + 1 && it.checkVisibility())
  .map((it) => it.innerText.slice(0, 80))`;

it.each(LOOKS)('is readable for everybody, $scheme and $width wide', async ({ scheme, width }) => {
  const tab = await browser.open();
  await tab.use({ scheme, width });
  for (const page of [
    'README.md',
    'docs/guide.md',
    'docs/changes.md',
    'docs/permissions.md',
    'docs/troubleshooting.md',
    'README.zh-CN.md',
  ]) {
    await open(tab, page);
    await expectAccessible(tab, page);
    expect(await tab.evaluate('document.documentElement.scrollWidth'), page).toBe(width);
    expect(await tab.evaluate(CUT_OFF), page).toEqual([]);
  }
  await open(tab, 'docs/guide.md');
  // Its list of sections is beside it, and not once more in it.
  expect(await tab.evaluate('document.querySelector("main h1 + ul") === null')).toBe(true);
  const shown = await tab.evaluate(
    '[...document.querySelectorAll("main img")].filter((img) => img.checkVisibility()).map((img) => img.src)',
  );
  expect(shown).toEqual([expect.stringContaining(`page-${scheme}`)]);
});

async function open(tab: Tab, page: string): Promise<void> {
  await tab.goto(`${site}/${placeOf(page).replace('.md', '.html')}`);
  // Vue has taken over what the server has rendered.
  await tab.until('document.querySelector("#app").__vue_app__ !== undefined');
}
