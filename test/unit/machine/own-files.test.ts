import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makePath, otherWriter, requireWritable, writeBelow } from '../../../src/machine/own-files.ts';

let root = '';
const isRoot = process.getuid?.() === 0;
const STRANGER = 65_534;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'devloop-own-')));
});
afterEach(() => rmSync(root, { recursive: true }));

function make(path: string, mode: number): string {
  mkdirSync(join(root, path), { recursive: true });
  chmodSync(join(root, path), mode);
  return join(root, path);
}

it.each<[string, number, boolean]>([
  ['only this user can write', 0o755, true],
  ["this user's own group can write", 0o775, true],
  ['everybody can write', 0o777, false],
  ['everybody can write, but is sticky', 0o1777, true],
])('a directory that %s', async (_, mode, isSafe) => {
  const open = make('open', mode);
  expect(otherWriter(join(open, 'a/b'))).toEqual(isSafe ? undefined : expect.stringContaining(open));
  make('open/own', 0o700);
  expect(otherWriter(join(open, 'own/file')) === undefined).toBe(isSafe);
});

it('a link leads to the directory that counts', async () => {
  const open = make('open', 0o777);
  symlinkSync(open, join(root, 'link'));
  expect(otherWriter(join(root, 'link/a'))).toContain(open);
  symlinkSync('loop', join(root, 'loop'));
  expect(otherWriter(join(root, 'loop/a'))).toContain('symbolic links');
});

it.skipIf(!isRoot)('the directory, or the link, of another user is not safe', async () => {
  const sticky = make('tmp', 0o1777);
  const theirs = make('tmp/theirs', 0o755);
  chownSync(theirs, STRANGER, STRANGER);
  expect(otherWriter(join(theirs, 'certs'))).toMatch(RegExp(`^${theirs} .*uid ${STRANGER}`));
  const link = join(sticky, 'link');
  symlinkSync(make('own', 0o700), link);
  expect(otherWriter(join(link, 'a'))).toBeUndefined();
  const { lchownSync } = await import('node:fs');
  lchownSync(link, STRANGER, STRANGER);
  expect(otherWriter(join(link, 'a'))).toMatch(RegExp(`^${link} .*uid ${STRANGER}`));
});

it.skipIf(!isRoot)("a group's directory is not safe", async () => {
  const shared = make('shared', 0o775);
  chownSync(shared, 0, STRANGER);
  expect(otherWriter(join(shared, 'a'))).toContain(`${shared}`);
});

it.skipIf(!isRoot)('a group that users share is not safe, even if it is the group of this process', () => {
  const shared = make('shared', 0o775);
  chownSync(shared, 0, STRANGER);
  const module = join(import.meta.dirname, '../../../src/machine/own-files.ts');
  const script = `const { otherWriter } = await import(${JSON.stringify(module)});
    console.log(otherWriter(${JSON.stringify(join(shared, 'a'))}));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    gid: STRANGER,
    encoding: 'utf8',
  });
  expect(stdout, stderr).toContain(shared);
});

it('a directory that somebody else made in the meantime is refused', async () => {
  const open = make('open', 0o777);
  await expect(makePath(open)).rejects.toMatchObject({
    code: 'files.not-written',
    message: expect.stringContaining(open),
  });
});

it.each(['ENOSPC', 'EROFS', 'EACCES', 'EIO'])('%s is an error with a cause and a next step', async (code) => {
  const fail = async (): Promise<never> => {
    throw Object.assign(new Error(`${code}: what the kernel says, open`), {
      code,
      syscall: 'open',
      path: '/x/y',
    });
  };
  const error = await writeBelow(root, fail).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'files.not-written', hint: expect.stringContaining('XDG_STATE_HOME') });
  expect((error as Error).message).toContain('/x/y');
  expect((error as Error).message).not.toContain('\n');
});

it('any other error stays what it is', async () => {
  const bug = new TypeError('a bug');
  await expect(writeBelow(root, () => Promise.reject(bug))).rejects.toBe(bug);
});

it('whether a directory can be written is known before anything is made', async () => {
  await requireWritable(join(root, 'a/b/c'));
  expect(existsSync(join(root, 'a'))).toBe(false);
  writeFileSync(join(root, 'file'), '');
  await expect(requireWritable(join(root, 'file/below'))).rejects.toMatchObject({
    code: 'files.not-written',
    message: expect.stringContaining(join(root, 'file')),
  });
});
