import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { namedByPackages } from '../../../src/checkout/linked-sources.ts';
import { directoryWith } from '../controller/support/places.ts';

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
