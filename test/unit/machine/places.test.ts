import { mkdir, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isFree, isOpenPlace, isPlaceable } from '../../../src/machine/places.ts';
import { directoryWith } from '../controller/support/places.ts';

test('nothing can be placed below a file', async () => {
  const file = join(await directoryWith({ file: '' }), 'file');
  expect(isPlaceable('/no-such-directory/file')).toBe(true);
  expect(isPlaceable('/tmp/no-such-directory/file')).toBe(true);
  expect(isPlaceable(file)).toBe(true);
  expect(isPlaceable(join(file, 'below'))).toBe(false);
});

test('a place is free where nothing is, or an empty directory: no link, no file, no directory with files', async () => {
  const place = await directoryWith({ file: '' });
  await mkdir(join(place, 'empty'));
  await symlink('empty', join(place, 'link'));
  const free = ['missing', 'missing/below', 'empty', 'link', 'file', ''].map((name) =>
    isFree(join(place, name)),
  );
  expect(free).toEqual([true, true, true, false, false, false]);
});

test.each([
  ['/no-such-directory', true],
  ['/no-such-directory/below', true],
  ['/etc/no-such-program', true],
  ['/etc/no-such-program/below', true],
  ['/var/run/no-such-program', true],
  ['/tmp/k8s-webhook-server/serving-certs', true],
  ['/', false],
  ['/etc', false],
  ['/etc/ssl/no-such-directory', false],
  ['/etc/no-such-program/../ld.so.preload', false],
  ['/usr/local/sbin', false],
  ['/usr/local/no-such-directory', false],
  ['/usr/lib/no-such-directory/x', false],
  ['/etc/passwd/below', false],
  [join(homedir(), '.no-such-directory'), false],
])('files of the cluster may be in %s: %s', (place, expected) => {
  expect(isOpenPlace(place)).toBe(expected);
});

test('a link leads to the place that counts', async () => {
  const place = await directoryWith();
  await symlink('/usr/local', join(place, 'local'));
  await symlink('/no-such-directory', join(place, 'nowhere'));
  const open = ['new', 'local/new', 'nowhere', 'nowhere/new'].map((name) => isOpenPlace(join(place, name)));
  expect(open).toEqual([true, false, false, false]);
});
