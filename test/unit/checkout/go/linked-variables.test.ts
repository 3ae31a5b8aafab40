import { chmod, mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { namedByPackages } from '../../../../src/checkout/go/linked-variables.ts';
import { directoryWith } from '../../controller/support/places.ts';

test('a cache that other users can write to is not believed, and not written', async () => {
  const root = await directoryWith({ 'lib/a.go': 'package a\nvar x = os.Getenv("NAMED")\n' });
  const [cache, file] = [join(root, 'cache'), join(root, 'cache/program.variables')];
  await mkdir(cache);
  const ask = () => namedByPackages([join(root, 'lib')], ['NAMED', 'FORGED'], file);
  expect([...(await ask())]).toEqual(['NAMED']);
  const kept = JSON.parse(await readFile(file, 'utf8'));
  const forged = JSON.stringify({ ...kept, named: { NAMED: false, FORGED: true } });
  await writeFile(file, forged);
  expect([...(await ask())], 'only this user can write there').toEqual(['FORGED']);
  await chmod(cache, 0o777);
  expect([...(await ask())]).toEqual(['NAMED']);
  expect(await readFile(file, 'utf8')).toBe(forged);
});

test('an edit in a directory of the developer is noticed, even one that keeps the length and the time of the file', async () => {
  const root = await directoryWith({ 'lib/a.go': 'package a\nvar x = os.Getenv("FIRST_")\n' });
  const [file, source] = [join(root, 'cache/program.variables'), join(root, 'lib/a.go')];
  const ask = async () => [...(await namedByPackages([join(root, 'lib')], ['FIRST_', 'SECOND'], file))];
  expect(await ask()).toEqual(['FIRST_']);
  const before = await stat(source);
  await writeFile(source, 'package a\nvar x = os.Getenv("SECOND")\n');
  await utimes(source, before.atime, before.mtime);
  expect(await ask()).toEqual(['SECOND']);
});

test('a name in a comment is not read by the package', async () => {
  const lines = ['package a', '// It sets "FIRST" as in "PREFIX_" + name.', '/* os.Getenv("SECOND") */'];
  const root = await directoryWith({
    'lib/a.go': `${lines.join('\n')}\nvar x = os.Getenv("THIRD") // "// no comment"\nvar y = "/*" + \`"FOURTH\``,
    'lib/b.go': 'package a\n\nvar z = os.Getenv("FIFTH")\n',
  });
  const names = ['FIRST', 'SECOND', 'PREFIX_NAME', 'THIRD', 'FIFTH'];
  const found = await namedByPackages([join(root, 'lib')], names, join(root, 'cache/program.variables'));
  expect([...found].sort()).toEqual(['FIFTH', 'THIRD']);
});
