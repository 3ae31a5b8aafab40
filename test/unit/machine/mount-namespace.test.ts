import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  lchown,
  lstat,
  mkdir,
  readdir,
  readFile,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { canPlace, type Placed, withPlaced } from '../../../src/machine/mount-namespace.ts';
import { directoryWith } from '../controller/support/places.ts';

const execute = promisify(execFile);

async function run(placed: Placed[], command: string[]): Promise<string> {
  const [program, ...args] = withPlaced(placed, await directoryWith(), command);
  const { stdout } = await execute(program!, args);
  return stdout;
}

const MODULE = join(import.meta.dirname, '../../../src/machine/mount-namespace.ts');
const isRoot = process.getuid?.() === 0;
/** Root needs no user namespace, so it also runs the command as a user without rights. */
const USERS = isRoot
  ? [{ who: 'root' }, { who: 'another user', uid: 65534, gid: 65534 }]
  : [{ who: 'this user' }];

/** Runs a command of a shell as a user, with the files in their places. */
async function runAs(user: { uid?: number; gid?: number }, placed: Placed[], command: string, env = {}) {
  const scratch = await directoryWith();
  await chmod(scratch, 0o777);
  const inPlace = `
    import { execFileSync } from 'node:child_process';
    import { withPlaced } from ${JSON.stringify(MODULE)};
    const [program, ...args] = withPlaced(${JSON.stringify(placed)}, '${scratch}', ['/bin/sh', '-c', ${JSON.stringify(command)}]);
    execFileSync(program, args, { cwd: '/', stdio: 'inherit', env: { ...process.env, ...${JSON.stringify(env)} } });`;
  const args = ['--input-type=module', '--no-warnings', '--eval', inPlace];
  const { stdout } = await execute(process.execPath, args, { ...user, cwd: '/' });
  return stdout;
}

/** A directory that every user can read, with a shared library and a script. */
async function nativeCode(): Promise<string> {
  const place = await directoryWith({ script: '#!/bin/sh\necho ran\n' });
  await chmod(place, 0o755);
  await chmod(join(place, 'script'), 0o755);
  const library = /\/\S+\/libgcc_s\S+/.exec(await readFile('/proc/self/maps', 'utf8'))![0];
  await copyFile(library, join(place, 'library.so'));
  return place;
}

test('without files to place, a command is run as it is', () => {
  expect(withPlaced([], '/scratch', ['program', 'a'])).toEqual(['program', 'a']);
});

// On a system that forbids namespaces, the controller runs without them.
describe.runIf(await canPlace())('one program finds a file in its place', () => {
  test('instead of the one that is there', async () => {
    const place = await directoryWith({ own: 'pod', there: 'machine' });
    const [from, to] = [join(place, 'own'), join(place, 'there')];
    expect(await run([{ from, to }], ['cat', to])).toBe('pod');
    expect(await run([], ['cat', to])).toBe('machine');
  });

  test('below directories that do not exist, beside everything else, and nothing of it is left', async () => {
    const from = join(await directoryWith({ own: 'pod' }), 'own');
    const place = await directoryWith({ file: 'f', '.hidden': 'h', 'a \\040b': 's' });
    await mkdir(join(place, 'below'));
    await writeFile(join(place, 'below', 'deep'), 'd');
    await symlink('file', join(place, 'link'));
    const link = join(await directoryWith({}), 'link');
    await symlink(place, link);
    const to = join(link, 'no', 'such', 'namespace');
    const files = [
      to,
      ...['file', '.hidden', 'a \\040b', 'below/deep', 'link'].map((name) => join(place, name)),
    ];
    expect(await run([{ from, to }], ['cat', ...files])).toBe('podfhsdf');
    expect((await readdir(place)).sort()).toEqual(['.hidden', 'a \\040b', 'below', 'file', 'link']);
    expect((await lstat(join(place, 'link'))).isSymbolicLink()).toBe(true);
  });

  test('also where only the root is above, with the working directory and everything else', async () => {
    const from = join(await directoryWith({ own: 'pod\n' }), 'own');
    const files = ['/no-such-directory/own', '/no-such-directory/too', '/no-such-file'];
    const placed = files.map((to) => ({ from, to }));
    const lines = (await run(placed, ['sh', '-c', `cat ${files.join(' ')} && pwd && ls -A /`]))
      .trim()
      .split('\n');
    expect(lines.slice(0, 4)).toEqual(['pod', 'pod', 'pod', process.cwd()]);
    const root = [...(await readdir('/')), 'no-such-directory', 'no-such-file'];
    expect(lines.slice(4).sort()).toEqual(root.sort());
    expect(files.some((file) => existsSync(file))).toBe(false);
  });

  // Like a container, which has its own /etc/resolv.conf.
  test('beside a file that the machine itself mounts there', async () => {
    const place = await directoryWith({ own: 'pod', mounted: 'machine', 'there/file': '' });
    const [from, file] = [join(place, 'own'), join(place, 'there/file')];
    const to = join(place, 'there/new/own');
    const inner = withPlaced([{ from, to }], await directoryWith(), ['cat', to, file]);
    expect(await run([{ from: join(place, 'mounted'), to: file }], inner)).toBe('podmachine');
  });

  test('but not through a link that was made since it was planned', async () => {
    const place = await directoryWith({ own: 'pod', 'others/own': 'machine' });
    const others = join(place, 'others/own');
    const placed = [{ from: join(place, 'own'), to: join(place, 'new/own') }];
    const [program, ...args] = withPlaced(placed, await directoryWith(), ['cat', others]);
    await symlink(join(place, 'others'), join(place, 'new'));
    expect((await execute(program!, args)).stdout).toBe('machine');
  });

  test.runIf(isRoot)('nor through a link of another user', async () => {
    const place = await directoryWith({ own: 'pod', 'others/own': 'machine' });
    await symlink('others', join(place, 'new'));
    const others = join(place, 'others/own');
    const placed = [{ from: join(place, 'own'), to: join(place, 'new/own') }];
    expect(await run(placed, ['cat', others])).toBe('pod');
    await lchown(join(place, 'new'), 65534, 65534);
    expect(await run(placed, ['cat', others])).toBe('machine');
  });

  test('or does without it, where a file is in the way', async () => {
    const place = await directoryWith({ own: 'pod', file: 'machine' });
    const [from, file] = [join(place, 'own'), join(place, 'file')];
    expect(await run([{ from, to: join(file, 'below') }], ['cat', file])).toBe('machine');
  });

  test('as the process that was started, with the exit code of the program', async () => {
    const place = await directoryWith({ own: '' });
    const placed = [{ from: join(place, 'own'), to: join(place, 'new/own') }];
    const [program, ...args] = withPlaced(placed, await directoryWith(), ['sh', '-c', 'echo $$; exit 3']);
    const child = execFile(program!, args);
    const [output] = await child.stdout!.toArray();
    expect(Number(output)).toBe(child.pid);
    expect(child.exitCode ?? (await new Promise((done) => child.once('exit', done)))).toBe(3);
  });

  test.each(USERS)('from which $who runs nothing, and loads no library', async (user) => {
    const from = await nativeCode();
    const try_ = (mayRun: boolean) =>
      runAs(
        user,
        [{ from, to: '/no-such-directory/code', mayRun }],
        `cd /no-such-directory/code; ./script || echo refused
        LD_PRELOAD=$PWD/library.so cat /proc/self/maps | grep -c 'r-x.*library.so' || :`,
      );
    expect((await try_(true)).split('\n')[0]).toBe('ran');
    expect(Number((await try_(true)).split('\n')[1])).toBeGreaterThan(0);
    expect(await try_(false)).toBe('refused\n0\n');
  });

  test.each(USERS)(
    'for $who, no file in the PATH is taken for a tool that makes the mounts',
    async (user) => {
      const from = await nativeCode();
      const bin = await directoryWith();
      await chmod(bin, 0o755);
      const tools = ['mount', 'pivot_root', 'umount', 'mkdir', 'cp', 'rmdir'];
      const placed = tools.map((tool) => ({ from: join(from, 'script'), to: join(bin, tool), mayRun: true }));
      const last = { from, to: '/no-such-directory/last' };
      const env = { PATH: `${bin}:${process.env.PATH}` };
      expect(await runAs(user, [...placed, last], 'ls /no-such-directory', env)).toBe('last\n');
    },
  );

  test('in the place of another one, the outer one first', async () => {
    const place = await directoryWith({ 'outer/file': 'o', 'inner/file': 'i' });
    const placed = ['no-such-directory/a', 'no-such-directory'].map((to, index) => {
      return { from: join(place, index === 0 ? 'inner' : 'outer'), to: `/${to}` };
    });
    expect(await run(placed, ['cat', '/no-such-directory/file', '/no-such-directory/a/file'])).toBe('oi');
  });

  test('and the environment as it was, even variables that a shell script could confuse with its own', async () => {
    const place = await directoryWith({ own: 'pod' });
    const from = join(place, 'own');
    const names = [
      'scratch',
      'mount',
      'count',
      'from',
      'to',
      'at',
      'kept',
      'near',
      'one',
      'own',
      'all',
      'here',
    ];
    const env = Object.fromEntries(names.map((name) => [name, `x[$(touch ${place}/ran)]`]));
    const [program, ...args] = withPlaced([{ from, to: '/no-such-directory/own' }], await directoryWith(), [
      'env',
    ]);
    const { stdout } = await execute(program!, args, { env: { ...process.env, ...env } });
    for (const [name, value] of Object.entries(env)) expect(stdout).toContain(`${name}=${value}\n`);
    expect(await readdir(place)).toEqual(['own']);
  });
});
