import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { languageOf } from '../../../src/languages.ts';
import { checkoutRoot, isCheckout } from '../../../src/session/context/checkout.ts';
import { directoryWith } from '../controller/support/places.ts';

const KOPF = 'import kopf\n';
const KUBE = '[package]\nname = "shop"\n[dependencies]\nkube.workspace = true\n';
const CLIENT = '{"dependencies": {"@kubernetes/client-node": "1"}}';
const SITE = '{"dependencies": {"react": "19"}}';

/** The files of a repository, where devloop is started, and its root. */
const ROOTS: [string, Record<string, string>, at: string, root: string, language?: string][] = [
  ['a module of Go', { 'ops/shop/go.mod': '', 'go.mod': '' }, 'ops/shop/api/v1', 'ops/shop', 'Go'],
  [
    'Python with pyproject.toml',
    { 'ops/shop/pyproject.toml': '', 'ops/shop/shop/main.py': KOPF },
    'ops/shop/shop',
    'ops/shop',
    'Python',
  ],
  [
    'Python with requirements.txt',
    { 'shop/requirements.txt': '', 'shop/main.py': KOPF, 'go.mod': '' },
    'shop',
    'shop',
    'Python',
  ],
  ['Python with setup.py', { 'shop/setup.py': '', 'shop/lib/main.py': KOPF }, 'shop/lib', 'shop', 'Python'],
  ['Node', { 'shop/package.json': CLIENT, 'package.json': SITE }, 'shop/src', 'shop', 'Node'],
  [
    'a workspace of npm',
    { 'js/package.json': '{"workspaces": ["ops/*"]}', 'js/ops/shop/package.json': CLIENT },
    'js/ops/shop/src',
    'js',
    'Node',
  ],
  [
    'a workspace of pnpm',
    { 'pnpm-workspace.yaml': 'packages:\n- ops/*\n', 'package.json': SITE, 'ops/shop/package.json': CLIENT },
    'ops/shop',
    '',
    'Node',
  ],
  [
    'a package with a lock file of its own',
    { 'package.json': '{"workspaces": ["ui"]}', 'shop/package.json': CLIENT, 'shop/yarn.lock': '' },
    'shop/src',
    'shop',
    'Node',
  ],
  [
    'a crate with a lock file of its own',
    { 'Cargo.toml': '[workspace]\nexclude = ["shop"]\n', 'shop/Cargo.toml': KUBE, 'shop/Cargo.lock': '' },
    'shop/src',
    'shop',
    'Rust',
  ],
  ['a crate', { 'shop/Cargo.toml': KUBE }, 'shop/src', 'shop', 'Rust'],
  [
    'a workspace of cargo',
    { 'rs/Cargo.toml': '[workspace]\nmembers = ["*"]\n', 'rs/shop/Cargo.toml': KUBE },
    'rs/shop/src',
    'rs',
    'Rust',
  ],
  ['a website beside an operator', { 'go.mod': '', 'site/package.json': SITE }, 'site/src', '', 'Go'],
  ['scripts beside an operator', { 'go.mod': '', 'ci/requirements.txt': '' }, 'ci', '', 'Go'],
  ['devloop.yaml before all', { 'devloop.yaml': '', 'shop/package.json': CLIENT }, 'shop', ''],
  ['nothing that is known', { 'shop/pom.xml': '' }, 'shop', ''],
];

test.each(ROOTS)('the root of a checkout is that of %s', async (_, files, at, root, language) => {
  const place = await directoryWith({ '.git/HEAD': '', ...files });
  const cwd = join(place, at);
  await mkdir(cwd, { recursive: true });
  const found = await checkoutRoot(cwd);
  expect(relative(place, found)).toBe(root);
  expect(isCheckout(found)).toBe(true);
  expect((await languageOf(new Checkout(found)))?.name).toBe(language);
});

test('nothing above the repository is read', async () => {
  const place = await directoryWith({ 'package.json': '{"workspaces": ["*"]}', 'go.mod': '' });
  const repository = join(place, 'repository');
  await mkdir(join(repository, '.git'), { recursive: true });
  await mkdir(join(repository, 'shop'));
  expect(await checkoutRoot(join(repository, 'shop'))).toBe(repository);
  await writeFile(join(repository, 'shop/package.json'), CLIENT);
  expect(await checkoutRoot(join(repository, 'shop'))).toBe(join(repository, 'shop'));
});

test('without a repository, only the directory itself can be the root', async () => {
  const place = await directoryWith({ 'package.json': CLIENT });
  const cwd = join(place, 'src');
  await mkdir(cwd);
  expect(await checkoutRoot(cwd)).toBe(cwd);
  expect(isCheckout(cwd)).toBe(false);
});
