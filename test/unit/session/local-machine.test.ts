import { spawn, spawnSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Holder } from '../../../src/cluster/takeover/lease.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import { isRunning, thisMachine } from '../../../src/session/context/local-machine.ts';

const MODULE = join(import.meta.dirname, '../../../src/session/context/local-machine.ts');
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

it('a process is running, gone, or another one with its pid', async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { pid = 0 } = child;
  const processStart = startTimeOf(pid)!;
  expect(await isRunning({ pid, processStart })).toBe(true);
  expect(await isRunning({ pid, processStart: `${processStart}0` })).toBe(false);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  expect(await isRunning({ pid, processStart })).toBe(false);
});

it.each([{}, { XDG_STATE_HOME: '' }, { XDG_STATE_HOME: 'state' }, { XDG_STATE_HOME: './state' }])(
  'nothing is kept below the current directory, which can be a checkout of a stranger: %j',
  async (env) => {
    const { stateDirectory } = await thisMachine({ HOME: '/home/ann', ...env });
    expect(stateDirectory).toBe('/home/ann/.local/state/devloop');
    expect((await thisMachine({ ...env, HOME: 'ann' })).stateDirectory).toBe(
      join(userInfo().homedir, '.local/state/devloop'),
    );
    const other = await thisMachine({ HOME: '/home/ann', XDG_STATE_HOME: '/var/ann' });
    expect(other.stateDirectory).toBe('/var/ann/devloop');
  },
);

it('a living process is not known to be the one of which nothing says when it started', async () => {
  expect(await isRunning({ pid: process.pid, processStart: '' })).toBeUndefined();
});

it('a process of an earlier boot is gone, and one in another PID namespace of this boot cannot be seen', async () => {
  const machine = await thisMachine({});
  const [boot, namespace, tick] = machine.processStart.split('/');
  const holder = (processStart: string) => ({ host: machine.host, pid: process.pid, processStart }) as Holder;
  const elsewhere = holder(`${boot}/${Number(namespace) + 1}/${tick}`);
  expect(machine.isHere(elsewhere)).toBe(false);
  expect(await isRunning(elsewhere)).toBeUndefined();
  const before = holder(`00000000-0000-0000-0000-000000000000/${namespace}/${tick}`);
  expect(machine.isHere(before)).toBe(false);
  expect(await isRunning(before)).toBe(false);
  expect(machine.isHere(holder(machine.processStart))).toBe(true);
});

it('without the id of a boot, a process that is not found may run on another machine of that name', async () => {
  const machine = await thisMachine({});
  const mac = { host: machine.host, pid: 4_194_304, processStart: 'Sun Nov 22 06:35:23 2026' } as Holder;
  expect(await machine.isRunning(mac)).toBeUndefined();
  expect(await isRunning(mac)).toBe(false);
});

it.skipIf(!isRoot)('a process in a PID namespace of its own is somewhere else', () => {
  const script = `const { thisMachine } = await import(${JSON.stringify(MODULE)});
    console.log((await thisMachine({})).processStart);`;
  const run = (...through: string[]) => {
    const [program = '', ...args] = [...through, process.execPath, '--input-type=module', '-e', script];
    return spawnSync(program, args, { encoding: 'utf8' }).stdout.trim().split('/');
  };
  const [boot, namespace] = run('env');
  const [otherBoot, otherNamespace] = run('unshare', '--pid', '--fork', '--mount-proc');
  expect(otherBoot).toBe(boot);
  expect(otherNamespace).toMatch(/^\d+$/);
  expect(otherNamespace).not.toBe(namespace);
});

it.skipIf(!isRoot)('a process that /proc hides is not known to be gone', () => {
  const script = `const { isRunning } = await import(${JSON.stringify(MODULE)});
    console.log(await isRunning({ pid: ${process.pid}, processStart: ${JSON.stringify(startTimeOf(process.pid))} }));`;
  const hidden =
    'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"';
  const args = ['--mount', 'sh', '-c', hidden, 'sh', process.execPath, '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
  expect(stdout.trim(), stderr).toBe('undefined');
});

it.skipIf(!isRoot)('an account without a name, as in a container under any uid, is called by its uid', () => {
  const script = `const { thisMachine } = await import(${JSON.stringify(MODULE)});
    process.setuid(54321);
    const { user, stateDirectory } = await thisMachine({});
    console.log(user, stateDirectory);`;
  const args = ['--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env: {} });
  expect(stdout.trim(), stderr).toBe('uid 54321 /.local/state/devloop');
});
