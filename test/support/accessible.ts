import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { expect } from 'vitest';
import type { Tab } from './browser.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Checks the page as it is now. The checker stays in the tab until the next page is opened. */
export async function expectAccessible(tab: Tab, what = ''): Promise<void> {
  // The checker is not part of the page, so the page's policy would refuse it.
  await tab.send('Page.setBypassCSP', { enabled: true });
  if (!(await tab.evaluate('typeof axe === "object"'))) await tab.evaluate(await readFile(AXE, 'utf8'));
  const found = await tab.evaluate(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`,
  );
  expect(found, what).toEqual([]);
}
