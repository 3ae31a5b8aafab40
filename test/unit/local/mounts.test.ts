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

test('a link where a file is needed is neither followed nor replaced', async () => {
  const directory = await temporary();
  await writeFile(join(directory, 'theirs'), 'theirs');
  await symlink('theirs', join(directory, 'kubeconfig'));
  const writing = writeNeededFiles([{ directory, files: { kubeconfig: 'ours' } }]);
  await expect(writing).rejects.toMatchObject({ code: 'files.not-written' });
  expect(await readFile(join(directory, 'theirs'), 'utf8')).toBe('theirs');
  expect((await lstat(join(directory, 'kubeconfig'))).isSymbolicLink()).toBe(true);
});
