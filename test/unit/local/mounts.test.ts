import { lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeNeededFiles } from '../../../src/local/mounts.ts';

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-mounts-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

test('files are written again for a new version of the manager', async () => {
  const directory = await temporary();
  const write = (text: string) => writeNeededFiles([{ directory, files: { kubeconfig: text } }]);
  await write('one');
  const { ino } = await lstat(join(directory, 'kubeconfig'));
  await write('one');
  expect((await lstat(join(directory, 'kubeconfig'))).ino).toBe(ino);
  await write('two');
  expect(await readFile(join(directory, 'kubeconfig'), 'utf8')).toBe('two');
  expect((await lstat(join(directory, 'kubeconfig'))).mode & 0o777).toBe(0o600);
  expect(await readdir(directory)).toEqual(['kubeconfig']);
});

test('a file that can be run is one for its owner alone, also where only that has changed', async () => {
  const directory = await temporary();
  const files = { 'run.sh': '#!/bin/sh\n', 'settings.yaml': 'a: b\n' };
  const modes = async () =>
    await Promise.all(
      Object.keys(files).map(async (name) => (await lstat(join(directory, name))).mode & 0o777),
    );
  await writeNeededFiles([{ directory, files }]);
  expect(await modes()).toEqual([0o600, 0o600]);
  await writeNeededFiles([{ directory, files, executable: ['run.sh'] }]);
  expect(await modes()).toEqual([0o700, 0o600]);
});

test('a link where a file is needed is neither followed nor replaced', async () => {
  const directory = await temporary();
  await writeFile(join(directory, 'theirs'), 'theirs');
  await symlink('theirs', join(directory, 'kubeconfig'));
  const writing = writeNeededFiles([{ directory, files: { kubeconfig: 'ours' } }]);
  await expect(writing).rejects.toMatchObject({ code: 'files.not-written' });
  expect(await readFile(join(directory, 'theirs'), 'utf8')).toBe('theirs');
  expect((await lstat(join(directory, 'kubeconfig'))).isSymbolicLink()).toBe(true);
});
