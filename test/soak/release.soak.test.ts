/** What `npm run release` writes: the executables run without Node, and a second release has the same bytes. It needs QEMU for arm64. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runner } from '../../scripts/release/code-cache.ts';

const ROOT = join(import.meta.dirname, '../..');
const OUT = join(ROOT, 'dist/release');

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'release-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function release(): Promise<string> {
  execFileSync(process.execPath, ['scripts/release.ts'], {
    cwd: ROOT,
    // setup.ts has downloaded all that it needs, and there is no network here.
    env: { ...process.env, npm_config_prefer_offline: 'true' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return await readFile(join(OUT, 'SHA256SUMS'), 'utf8');
}

it('the executables for Linux run without Node and ignore NODE_OPTIONS, and a second release has the same bytes', async () => {
  const sums = await release();
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  for (const platform of ['linux-x64', 'linux-arm64'] as const) {
    const archive = join(OUT, `devloop-${version}-${platform}.tar.gz`);
    execFileSync('tar', ['xzf', archive, '-C', directory]);
    const [program, ...words] = [...runner(platform)!, join(directory, 'devloop')];
    const env = { HOME: directory, PATH: '/nonexistent', NODE_OPTIONS: '--require /nonexistent/code.js' };
    const run = (...more: string[]) =>
      promisify(execFile)(program!, [...words, ...more], { cwd: directory, env });
    expect((await run('--version')).stdout).toBe(`${version}\n`);
    expect((await run('--help')).stdout).toBe(await readFile(join(ROOT, 'dist/help.txt'), 'utf8'));
    expect((await run('config')).stdout).toContain('controller.graceSeconds');
    // As kubectl asks for what comes after `kubectl devloop rev`.
    await symlink('devloop', join(directory, 'kubectl_complete-devloop'));
    const completing = [...runner(platform)!, join(directory, 'kubectl_complete-devloop'), 'rev'];
    const { stdout } = await promisify(execFile)(completing[0]!, completing.slice(1), { env });
    expect(stdout).toContain('reviews');
    await rm(join(directory, 'kubectl_complete-devloop'));
    await expect(run('doctor')).rejects.toMatchObject({ code: 2 });
  }
  expect(await release()).toBe(sums);
});
