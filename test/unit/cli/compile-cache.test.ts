import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BIN } from './run-bin.ts';

const CACHE = join('devloop', 'compile-cache');
const NOBODY = 65_534;

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'devloop-home-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** How many files of compiled code a command took from its cache. */
function taken(env: NodeJS.ProcessEnv): number {
  const { stdout, stderr } = spawnSync(process.execPath, [BIN, 'status', '--help'], {
    env: { PATH: process.env.PATH, NODE_DEBUG_NATIVE: 'COMPILE_CACHE', TMPDIR: home, ...env },
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`.match(/was accepted/g)?.length ?? 0;
}

it('compiled code is kept in the cache of the user, and nothing in the directory for temporary files', async () => {
  expect(taken({ HOME: home })).toBe(0);
  expect(taken({ HOME: home })).toBeGreaterThan(0);
  expect((await stat(join(home, '.cache', CACHE))).mode & 0o777).toBe(0o700);
  expect(await readdir(home)).toEqual(['.cache']);
});

it.skipIf(process.getuid?.() !== 0).each([
  ['belongs to another user', (path: string) => chown(path, NOBODY, NOBODY)],
  ['can be written by others', (path: string) => chmod(path, 0o777)],
])('a cache that %s is not used, nor one below such a directory', async (_, change) => {
  const base = join(home, 'cache');
  for (const path of [join(base, CACHE), base]) {
    await rm(base, { recursive: true, force: true });
    await mkdir(base, { mode: 0o755 });
    for (const expected of [0, expect.any(Number)])
      expect(taken({ HOME: home, XDG_CACHE_HOME: base })).toEqual(expected);
    await change(path);
    expect(taken({ HOME: home, XDG_CACHE_HOME: base })).toBe(0);
  }
});

it('a home that does not exist is not created', async () => {
  expect(taken({ HOME: join(home, 'none') })).toBe(0);
  expect(await readdir(home)).toEqual([]);
});

it.skipIf(process.getuid?.() !== 0)('root creates nothing in the home of another user', async () => {
  await chown(home, NOBODY, NOBODY);
  expect(taken({ HOME: home })).toBe(0);
  expect(await readdir(home)).toEqual([]);
});
