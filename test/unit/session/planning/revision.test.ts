import { spawnSync } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DevloopError } from '../../../../src/errors.ts';
import { exportRevision, findRevision, ofRevision } from '../../../../src/session/planning/revision.ts';

const { signal } = new AbortController();

async function repository() {
  const parent = await mkdtemp(join(tmpdir(), 'devloop-revision-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const root = join(parent, 'repository');
  await mkdir(join(root, 'operator'), { recursive: true });
  const git = (...args: string[]): string => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    const { status, stdout, stderr } = spawnSync('git', [...identity, ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
    return stdout.trim();
  };
  git('init', '-q');
  await writeFile(join(root, 'operator/main.go'), 'package main\n');
  await writeFile(join(root, 'filtered'), 'raw\n');
  await symlink('operator', join(root, 'link'));
  git('add', '.');
  git('commit', '-qm', 'one');
  const scratch = join(parent, 'scratch');
  await mkdir(scratch);
  return { root, git, scratch };
}

/** All files below .git, with their contents. */
async function insideGit(root: string): Promise<Map<string, string>> {
  const names = await readdir(join(root, '.git'), { recursive: true, withFileTypes: true });
  const files = names.filter((one) => one.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(file, 'latin1')] as const)),
  );
}

test('the files of a revision are exported without a change in the repository', async () => {
  const { root, git, scratch } = await repository();
  const ran = join(scratch, '../ran');
  // Each of these would run a program, write into .git, or leave out files.
  git('config', 'filter.f.smudge', `touch ${ran}; cat`);
  git('config', 'core.splitIndex', 'true');
  git('config', 'core.sparseCheckout', 'true');
  await writeFile(join(root, '.git/info/attributes'), 'filtered filter=f\n');
  await writeFile(join(root, '.git/info/sparse-checkout'), '/link\n');
  await writeFile(join(root, 'operator/main.go'), 'package changed\n');
  const before = await insideGit(root);
  const cwd = join(root, 'operator');
  const revision = await findRevision('HEAD', cwd, signal);
  expect(revision.shown).toBe(`HEAD (${git('rev-parse', '--short=7', 'HEAD')})`);
  const place = await exportRevision(revision, { root: cwd, cwd: join(cwd, 'gone') }, scratch, signal);
  expect(place).toEqual({ root: join(scratch, 'against/operator'), cwd: join(scratch, 'against/operator') });
  expect(await readFile(join(place.root, 'main.go'), 'utf8')).toBe('package main\n');
  expect(await readFile(join(place.root, '../filtered'), 'utf8')).toBe('raw\n');
  expect(await readFile(join(place.root, '../link/main.go'), 'utf8')).toBe('package main\n');
  expect(await insideGit(root)).toEqual(before);
  await expect(access(ran)).rejects.toThrow();
});

test.each(['nope', '-h', '--all', 'HEAD:operator', 'HEAD~7', ''])('%j is no revision', async (name) => {
  const { root } = await repository();
  await expect(findRevision(name, root, signal)).rejects.toMatchObject({ code: 'usage.invalid' });
});

test('a directory that a revision lacks, and one without a repository, are named', async () => {
  const { root, git, scratch } = await repository();
  await mkdir(join(root, 'later'));
  const revision = await findRevision(git('rev-parse', 'HEAD'), root, signal);
  const later = { root: join(root, 'later'), cwd: join(root, 'later') };
  await expect(exportRevision(revision, later, scratch, signal)).rejects.toThrow(/no directory later/);
  await expect(findRevision('HEAD', scratch, signal)).rejects.toThrow(/not in a git repository/);
});

test('an error about a revision names it, and not the place of its files', () => {
  const revision = { name: 'v1', commit: 'a'.repeat(40), shown: 'v1 (aaaaaaa)', repository: '/r' };
  const error = new DevloopError('controller.no-main', 'nothing in /scratch/against', {
    hint: 'ls /scratch/against',
  });
  const place = { root: '/scratch/against', cwd: '/scratch/against' };
  expect(ofRevision(error, revision, place)).toMatchObject({
    code: 'controller.no-main',
    message: 'Revision v1 (aaaaaaa): nothing in .',
    hint: 'ls .',
  });
});
