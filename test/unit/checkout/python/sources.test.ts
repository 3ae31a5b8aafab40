import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { kopfPaths } from '../../../../src/checkout/python/kopf.ts';
import { checkoutFacts } from '../../../../src/languages.ts';
import { directoryWith } from '../../controller/support/places.ts';

test.each([
  ['the name of its function', "@kopf.on.validate('shops')\ndef check(**_): ...", ['/check']],
  [
    'its id, in either quote',
    '@kopf.on.mutate("example.com", "v1", "shops", id="fill")\nasync def f(**_): ...',
    ['/fill'],
  ],
  [
    'its id and its field',
    "@kopf.on.validate('shops', id='check', field='spec.size')\ndef f(**_): ...",
    ['/check/spec.size'],
  ],
  [
    'the last decorator',
    "@kopf.on.validate('shops', annotations={'a': kopf.PRESENT}, when=is_new(1))\n@kopf.on.mutate('shops', id='b')\ndef f(**_): ...",
    ['/f', '/b'],
  ],
  ['no path without a webhook', "@kopf.on.create('shops')\ndef f(**_): ...", []],
])('the path of a webhook of kopf is made from %s', (_, text, paths) => {
  expect(kopfPaths(text).sort()).toEqual(paths.sort());
});

test.each([
  ['only as in a Pod', 'kubernetes.config.load_incluster_config()', true],
  [
    'by a kubeconfig elsewhere',
    'try:\n  config.load_incluster_config()\nexcept E:\n  config.load_kube_config()',
    false,
  ],
  ['as kopf does', 'import kopf\nload_incluster_config()', false],
])('a program connects %s', async (_, text, connectsFromPod) => {
  const root = await directoryWith({ 'main.py': text });
  expect(await checkoutFacts(new Checkout(root))).toMatchObject({ connectsFromPod });
});

test('paths and names are recognised in either quote, and the project gives a name', async () => {
  const root = await directoryWith({
    'pyproject.toml': '[project]\nname = "shop-keeper"\n',
    'main.py': "import kubernetes\napp.post('/validate-shops')\nNAME = 'shop.example.com'\n",
  });
  const { paths, quoted, names, language } = await checkoutFacts(new Checkout(root));
  expect([...paths]).toContain('/validate-shops');
  expect([...quoted]).toContain('shop.example.com');
  expect([...names]).toContain('shop-keeper');
  expect(language?.name).toBe('Python');
});

test('Python files beside another program are no operator', async () => {
  const scripts = await directoryWith({ 'release.py': 'import os\n', 'requirements.txt': '' });
  expect((await checkoutFacts(new Checkout(scripts))).language).toBeUndefined();
  const go = await directoryWith({ 'go.mod': 'module m\n', 'hack.py': 'import kubernetes\n' });
  expect((await checkoutFacts(new Checkout(go))).language?.name).toBe('Go');
});
