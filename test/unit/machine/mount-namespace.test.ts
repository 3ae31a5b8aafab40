import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  canPlace,
  isFree,
  isPlaceable,
  type Placed,
  withPlaced,
} from '../../../src/machine/mount-namespace.ts';
import { directoryWith } from '../controller/support/places.ts';

const execute = promisify(execFile);

async function run(placed: Placed[], command: string[]): Promise<string> {
  const [program, ...args] = withPlaced(placed, await directoryWith(), command);
  const { stdout } = await execute(program!, args);
  return stdout;
}

test('without files to place, a command is run as it is', () => {
  expect(withPlaced([], '/scratch', ['program', 'a'])).toEqual(['program', 'a']);
});

test('nothing can be placed below a file', async () => {
  const file = join(await directoryWith({ file: '' }), 'file');
  expect(isPlaceable('/no-such-directory/file')).toBe(true);
  expect(isPlaceable('/tmp/no-such-directory/file')).toBe(true);
  expect(isPlaceable(file)).toBe(true);
  expect(isPlaceable(join(file, 'below'))).toBe(false);
});

test('a place is free where nothing is, or an empty directory: no link, no file, no directory with files', async () => {
  const place = await directoryWith({ file: '' });
  await mkdir(join(place, 'empty'));
  await symlink('empty', join(place, 'link'));
  const free = ['missing', 'missing/below', 'empty', 'link', 'file', ''].map((name) =>
    isFree(join(place, name)),
  );
  expect(free).toEqual([true, true, true, false, false, false]);
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
    await symlink(place, `${place}-link`);
    const to = join(`${place}-link`, 'no', 'such', 'namespace');
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
});
