import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { requireProgram } from '../../../src/controller/named-program.ts';
import { AGAIN } from '../../../src/errors.ts';
import { directoryWith } from './support/places.ts';

async function checkout() {
  const cwd = await directoryWith({ 'bin/run': '', 'bin/plain': '' });
  await chmod(join(cwd, 'bin/run'), 0o755);
  await mkdir(join(cwd, 'bin/folder'));
  return (run: string[], env = {}, build?: string[]): Promise<unknown> =>
    requireProgram({ run, cwd, build, env: { PATH: `/nowhere:${join(cwd, 'bin')}`, ...env } }).then(
      () => 'there',
      (error) => error,
    );
}

it.each([[['./bin/run', 'x']], [['run']]])('%j is there', async (run) => {
  expect(await (await checkout())(run)).toBe('there');
});

it.each([
  ['./bin/rnu', /\/bin\/rnu does not exist/],
  ['rnu', /rnu is not on the PATH/],
  ['plain', /plain is not on the PATH/],
  ['folder', /folder is not on the PATH/],
  ['run/x', /does not exist/],
])('%s is not', async (program, message) => {
  expect(await (await checkout())([program])).toMatchObject({
    ...{ code: 'controller.no-toolchain', message: expect.stringMatching(message) },
    hint: expect.stringContaining('Check its name'),
  });
});

it('a command in quotes is split', async () => {
  const hint = expect.stringContaining(`${AGAIN} -- go run .`);
  expect(await (await checkout())(['go run .'])).toMatchObject({ hint });
});

it('what a build makes is not there yet, and a system without a PATH has one of its own', async () => {
  const look = await checkout();
  expect(await look(['./bin/made'], {}, ['make'])).toBe('there');
  expect(await look(['made'], { PATH: undefined })).toBe('there');
});
