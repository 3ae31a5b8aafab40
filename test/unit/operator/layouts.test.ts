import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { findMainPackage } from '../../../src/checkout/go/main-package.ts';
import { checkoutFacts } from '../../../src/languages.ts';
import { rank } from '../../../src/operator/match.ts';
import { LAYOUTS } from '../../support/layouts/all.ts';
import { makeRepository } from '../../support/layouts/layout.ts';

/** The end-to-end test with the same name builds and takes over each of them. */
test.each(LAYOUTS)('a repository like this is recognised, with its main package: %s', async (_, layout) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'devloop-layout-')));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const directory = await makeRepository(layout, base);
  const { name, container, webhook } = layout;
  const from = { kind: 'ValidatingWebhookConfiguration', name } as const;
  const call = { from, name, path: webhook.path, port: 443, caBundle: '', groups: [''] };
  const ranked = rank(
    [{ namespace: name, name: `${name}-webhook`, calls: [call] }],
    await checkoutFacts(new Checkout(directory)),
  );
  expect(ranked).toHaveLength(1);
  const hints = {
    command: container.command ?? [],
    image: container.image,
    container: container.name,
    workload: name,
    paths: [webhook.path],
  };
  const main = await findMainPackage(new Checkout(directory), hints);
  expect(main.package).toBe(layout.main.package);
  expect(relative(join(base, name), main.directory)).toBe(
    layout.main.module === '.' ? '' : layout.main.module,
  );
});
