import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { isKnownDead } from '../../../src/session/context/local-sessions.ts';
import { claimDirectory, endOrphans } from '../../../src/session/context/session-directories.ts';

it('a session that starts keeps its directory while another one removes abandoned directories', async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const machine = { ...(await thisMachine({})), host: 'here', stateDirectory };
  let going = true;
  const looking = (async () => {
    while (going) await endOrphans(machine, () => {});
  })();
  const sessions = Array.from({ length: 100 }, (_, index) => `s${index}`);
  try {
    for (const session of sessions) await claimDirectory(machine, session, { checkout: '/' });
  } finally {
    going = false;
    await looking;
  }
  expect((await readdir(stateDirectory)).sort()).toEqual(sessions.sort());
  await rm(stateDirectory, { recursive: true });
});

it('only directories that this machine abandoned are removed from a home directory that machines share', async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const machine = { ...(await thisMachine({})), host: 'here', stateDirectory };
  for (const host of ['here', 'elsewhere']) {
    const owner = { host, pid: 4_194_304, processStart: `boot-of-${host}/1` };
    await mkdir(join(stateDirectory, `of-${host}`));
    await writeFile(join(stateDirectory, `of-${host}`, 'devloop.json'), JSON.stringify(owner));
  }
  const dead = await Promise.all(['of-here', 'of-elsewhere'].map((one) => isKnownDead(machine, one)));
  expect(dead).toEqual([true, false]);
  await endOrphans(machine, () => {});
  expect(await readdir(stateDirectory)).toEqual(['of-elsewhere']);
  await rm(stateDirectory, { recursive: true });
});

it('nothing is written below a directory that others can write, and no record there is believed', async () => {
  const open = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const stateDirectory = join(open, 'devloop');
  const machine = { ...(await thisMachine({})), host: 'here', stateDirectory };
  await mkdir(join(stateDirectory, 'planted'), { recursive: true });
  await chmod(open, 0o777);
  await expect(claimDirectory(machine, 's1', { checkout: '/' })).rejects.toMatchObject({
    code: 'files.not-written',
    message: expect.stringContaining(open),
  });
  await endOrphans(machine, () => {});
  expect(await readdir(stateDirectory)).toEqual(['planted']);
  await rm(open, { recursive: true });
});

const MODULE = join(import.meta.dirname, '../../../src/session/context/session-directories.ts');

it.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0).each([
  ['full', 'nr_inodes=2', 'the disk is full'],
  ['read-only', 'ro', 'the file system is read-only'],
])('a %s disk is an error with its cause', async (_, options, cause) => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const machine = JSON.stringify({ host: 'here', processStart: '', stateDirectory });
  const script = `const { claimDirectory } = await import(${JSON.stringify(MODULE)});
    await claimDirectory(${machine}, 's1', { checkout: '/' }).catch(({ code, message }) => console.log(code, message));`;
  const mounted = 'mount -t tmpfs -o "$0" tmpfs "$1" && shift && exec "$@"';
  const node = [process.execPath, '--input-type=module', '-e', script];
  const args = ['--mount', 'sh', '-c', mounted, options, stateDirectory, ...node];
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
  await rm(stateDirectory, { recursive: true });
  expect(stdout, stderr).toContain(
    `files.not-written devloop cannot write its files to ${stateDirectory}: ${cause}`,
  );
  expect(stdout.trim().split('\n')).toHaveLength(1);
});
