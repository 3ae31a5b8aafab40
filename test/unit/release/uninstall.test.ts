import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Ended, type ReleaseFiles, releaseFiles, shell } from '../../support/release-files.ts';

async function installed(): Promise<ReleaseFiles> {
  const release = releaseFiles({ isSigned: false });
  const { code } = await shell([join(release.files, 'install.sh'), '--to', release.target], release);
  expect(code).toBe(0);
  return release;
}

const uninstall = (release: ReleaseFiles, env: Record<string, string> = {}): Promise<Ended> =>
  shell([join(release.files, 'uninstall.sh'), '--dir', release.target], release, { env });

/** The record of a session, as src/session/context/local-sessions.ts reads it. Returns what removes it. */
function sessionOf(pid: number, state: string): () => void {
  const directory = join(state, 'devloop/0a1b2c3d');
  mkdirSync(directory, { recursive: true });
  const owner = { host: 'here', pid, processStart: 'x/y/1', checkout: "/src/o'shop" };
  writeFileSync(join(directory, 'devloop.json'), JSON.stringify(owner));
  return () => rmSync(directory, { recursive: true });
}

describe.runIf(process.platform === 'linux')('uninstall.sh', () => {
  test('removes what install.sh has installed, and nothing else', async () => {
    const release = await installed();
    writeFileSync(join(release.target, 'other'), '');
    const ended = await uninstall(release);
    expect(ended).toMatchObject({ code: 0, error: '' });
    expect(readdirSync(release.target)).toEqual(['other']);
    expect(await uninstall(release)).toMatchObject({ code: 1, error: expect.stringContaining('--dir DIR') });
  });

  test('touches nothing if devloop is a directory there', async () => {
    const release = await installed();
    rmSync(join(release.target, 'devloop'));
    mkdirSync(join(release.target, 'devloop'));
    const before = readdirSync(release.target);
    expect(await uninstall(release)).toMatchObject({
      code: 1,
      error: expect.stringContaining('is a directory'),
    });
    expect(readdirSync(release.target)).toEqual(before);
  });

  test('lists what stays, with a command for each', async () => {
    const release = await installed();
    const XDG_CACHE_HOME = join(release.home, "it's a cache");
    const [state, data] = ['.local/state/devloop', '.local/share/kubebuilder-envtest'];
    for (const one of [state, data]) mkdirSync(join(release.home, one), { recursive: true });
    mkdirSync(join(XDG_CACHE_HOME, 'devloop'), { recursive: true });
    const { out } = await uninstall(release, { XDG_CACHE_HOME });
    const commands = out.split('\n').filter((line) => line.includes('rm -rf'));
    expect(commands).toHaveLength(3);
    const removed = await shell(['-c', commands.join('\n')], release);
    expect(removed).toMatchObject({ code: 0, error: '' });
    for (const one of [join(release.home, state), join(release.home, data), join(XDG_CACHE_HOME, 'devloop')])
      expect(existsSync(one), one).toBe(false);
    expect(out).toContain('go clean -cache -modcache');
  });

  test('refuses while a session runs, and while one has not restored the cluster', async () => {
    const release = await installed();
    const XDG_STATE_HOME = join(release.home, 'state');
    const end = sessionOf(process.pid, XDG_STATE_HOME);
    const running = await uninstall(release, { XDG_STATE_HOME });
    expect(running).toMatchObject({ code: 1, error: expect.stringContaining(`pid ${process.pid}`) });
    expect(running.error).toContain("→ End it first: cd '/src/o'\\''shop' && devloop down");
    end();
    const remove = sessionOf(2 ** 22 + 1, XDG_STATE_HOME);
    const crashed = await uninstall(release, { XDG_STATE_HOME });
    expect(crashed).toMatchObject({ code: 1, error: expect.stringContaining('devloop down') });
    expect(existsSync(join(release.target, 'devloop'))).toBe(true);
    remove();
    // As devloop itself, it looks below no directory that depends on the current one.
    const removeDefault = sessionOf(process.pid, join(release.home, '.local/state'));
    expect(await uninstall(release, { XDG_STATE_HOME: 'state' })).toMatchObject({ code: 1 });
    removeDefault();
    expect(await uninstall(release, { XDG_STATE_HOME })).toMatchObject({ code: 0 });
  });

  test.each(['as /proc says', 'as ps says'])(
    'a process that has ended, but is still listed, is no session that runs: %s',
    async (by) => {
      const release = await installed();
      const XDG_STATE_HOME = join(release.home, 'state');
      // The shell makes way for a program that waits for no child.
      const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      onTestFinished(() => void parent.kill());
      const [text] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(text);
      await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ');
      sessionOf(pid, XDG_STATE_HOME);
      const script = join(release.files, 'uninstall.sh');
      if (by === 'as ps says')
        writeFileSync(script, readFileSync(script, 'utf8').replaceAll('/proc/', '/nowhere/'));
      const { code, error } = await uninstall(release, { XDG_STATE_HOME });
      expect({ code, error }).toEqual({ code: 1, error: expect.stringContaining('was not ended') });
    },
  );

  test('leaves what npm has installed', async () => {
    const release = releaseFiles({ isSigned: false });
    mkdirSync(release.target, { recursive: true });
    for (const name of ['devloop', 'kubectl-devloop'])
      symlinkSync('../lib/node_modules/kube-devloop/bin/devloop.js', join(release.target, name));
    expect(await uninstall(release)).toMatchObject({
      code: 1,
      error: expect.stringContaining('npm uninstall -g'),
    });
    expect(readdirSync(release.target)).toHaveLength(2);
  });
});
