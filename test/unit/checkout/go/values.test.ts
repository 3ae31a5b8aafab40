import { expect, test } from 'vitest';
import { textsIn } from '../../../../src/checkout/go/texts.ts';
import { sourcesOf } from '../../../support/go-sources.ts';

test('values that refer to themselves and to each other take little time', { timeout: 5_000 }, () => {
  const assigned = Array.from({ length: 30 }, (_, index) => `\ta = a + b + "${index}"\n\tb = b + a\n`).join(
    '',
  );
  const constants = 'const x = y + "/1"\nconst y = x + "/2"\nconst z = "/known" + "/3"\n';
  const all = sourcesOf({ '/shop/main.go': `package main\n${constants}func main() {\n${assigned}}\n` });
  expect([...textsIn(all)]).toContain('/known/3');
});

test('a name that has different values has none', () => {
  const files = {
    '/shop/a.go': 'package shop\nfunc main() {\n\tdir := "/a"\n\tdir = "/b"\n\tuse(dir + "/certs")\n}\n',
    '/shop/linux.go': 'package shop\nconst root = "/linux"\nvar own = root + "/own"\n',
    '/shop/windows.go': 'package shop\nconst root = "/windows"\n',
  };
  const texts = [...textsIn(sourcesOf(files))];
  expect(texts.filter((text) => /\/\w+\/(?:certs|own)$/.test(text))).toEqual([]);
});
