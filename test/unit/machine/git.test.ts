import { spawnSync } from 'node:child_process';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runGitWithoutFilters } from '../../../src/machine/git.ts';

test('a filter whose name contains an equals sign does not run', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'devloop-git-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const git = (...args: string[]) => {
    const { status, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  };
  const ran = join(cwd, '.git/ran');
  git('init', '-q');
  await writeFile(join(cwd, 'a'), 'one');
  git('add', 'a');
  for (const name of ['plain', 'a=b']) git('config', `filter.${name}.clean`, `touch ${ran}; cat`);
  await writeFile(join(cwd, '.gitattributes'), 'a filter=a=b\n');
  await writeFile(join(cwd, 'a'), 'two');
  const { code, stdout } = await runGitWithoutFilters(['diff', '--name-only'], { cwd });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'a\n' });
  await expect(access(ran)).rejects.toThrow();
});
