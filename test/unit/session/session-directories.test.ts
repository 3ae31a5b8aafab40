import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { recordStarted } from '../../../src/controller/orphan.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { isKnownDead, localSessions } from '../../../src/session/context/local-sessions.ts';
import {
  claimDirectory,
  endOrphans,
  newSessionId,
  reportOrphans,
} from '../../../src/session/context/session-directories.ts';
import { eventually } from '../../support/eventually.ts';
import { isRunning } from '../../support/is-running.ts';

const STARTS_ENVTEST = join(import.meta.dirname, '../../fixtures/session/starts-envtest.mjs');

it('a session that starts keeps its directory while another one removes abandoned directories', async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const machine = { ...(await thisMachine({})), host: 'here', stateDirectory };
  let going = true;
  const looking = (async () => {
    while (going) {
      await endOrphans(machine, () => {});
      // Like another process, it leaves time to this one.
      await setImmediate();
    }
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
  const ids = { here: newSessionId(), elsewhere: newSessionId() };
  for (const host of ['here', 'elsewhere'] as const) {
    const owner = { host, pid: 4_194_304, processStart: `boot-of-${host}/1` };
    await mkdir(join(stateDirectory, ids[host]));
    await writeFile(join(stateDirectory, ids[host], 'devloop.json'), JSON.stringify(owner));
  }
  // What a label says may be no id at all, and then it is no path either.
  const odd = `../${basename(stateDirectory)}/${ids.here}`;
  const asked = [ids.here, ids.elsewhere, odd, `${ids.here}/.`];
  expect(await Promise.all(asked.map((one) => isKnownDead(machine, one)))).toEqual([
    true,
    false,
    false,
    false,
  ]);
  await endOrphans(machine, () => {});
  expect(await readdir(stateDirectory)).toEqual([ids.elsewhere]);
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

it('an API server that a killed `reviews verify` left running is named, and ended', async () => {
  const state = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const names = ['kube-apiserver', 'etcd'];
  for (const name of names)
    await writeFile(join(state, name), '#!/bin/sh\necho $$ > "$0.pid"\nexec sleep 600\n', { mode: 0o755 });
  const env = { ...process.env, XDG_STATE_HOME: state };
  const verify = spawn(process.execPath, [STARTS_ENVTEST, state, state], { env, stdio: 'inherit' });
  const pidOf = async (name: string): Promise<number> =>
    Number(await readFile(join(state, `${name}.pid`), 'utf8'));
  await eventually(async () => expect((await Promise.all(names.map(pidOf))).every(Boolean)).toBe(true));
  const machine = await thisMachine(env);
  expect(await localSessions(machine)).toEqual([]);
  verify.kill('SIGKILL');
  await once(verify, 'exit');
  const pids = await Promise.all(names.map(pidOf));
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  await reportOrphans(machine, emit);
  await endOrphans(machine, emit, 'verify');
  const notes = (dryRun: boolean) =>
    pids.map((pid) => ({ code: 'process.stopped', values: { pid, dryRun } }));
  expect(events).toMatchObject([...notes(true), ...notes(false)]);
  expect(await Promise.all(pids.map(isRunning))).toEqual([false, false]);
  expect(await readdir(machine.stateDirectory)).toEqual([]);
  await rm(state, { recursive: true });
});

it('a process with an argument of any length is named by the beginning of its command', async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const machine = { ...(await thisMachine({})), stateDirectory };
  const command = ['sleep', '600'];
  const { pid } = spawn(command[0]!, command.slice(1), { detached: true, stdio: 'ignore' });
  await mkdir(join(stateDirectory, 'killed'));
  const file = join(stateDirectory, 'killed', 'controller.json');
  recordStarted(file, { pid: pid!, command: ['manager', `--long=${'x'.repeat(128 * 1024)}`] });
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  await reportOrphans(machine, emit);
  await endOrphans(machine, emit);
  const shown = { values: { pid, command: expect.stringMatching(/^manager --long=x{100,200}…$/) } };
  expect(events).toMatchObject([shown, shown]);
  await rm(stateDirectory, { recursive: true });
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
  expect(stdout, stderr).toMatch(new RegExp(`^files\\.not-written .* ${stateDirectory}: ${cause}`));
  expect(stdout.trim().split('\n')).toHaveLength(1);
});
