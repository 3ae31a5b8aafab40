import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { findDelve } from '../../../src/debugger/find-delve.ts';
import { directoryWith } from '../controller/support/places.ts';

afterEach(() => void vi.unstubAllEnvs());

/** A PATH with these programs, each of which prints a text. */
async function path(programs: Record<string, string>): Promise<string> {
  const files = Object.entries(programs).map(([name, text]) => [
    name,
    `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`,
  ]);
  const directory = await directoryWith(Object.fromEntries(files));
  for (const name of Object.keys(programs)) await chmod(join(directory, name), 0o755);
  vi.stubEnv('PATH', `${directory}:/usr/bin:/bin`);
  return directory;
}

const delve = (version: string, builder = 'go1.26.8'): string =>
  `Delve Debugger\nVersion: ${version}\nBuild: x\nBuild Details:  ${builder}\n mod\tgithub.com/go-delve/delve`;
const find = (): Promise<string> => findDelve('/', new AbortController().signal);

test.each(['1.26.0', '1.27.2', 'master'])('delve %s debugs programs of Go 1.26', async (version) => {
  await path({ go: 'go1.26.8\n\n/none', dlv: delve(version) });
  expect(await find()).toBe('dlv');
});

test('where go install puts it, it need not be on the PATH', async () => {
  const first = await directoryWith({ 'bin/dlv': `#!/bin/sh\necho 'Version: 1.26.0'\n` });
  await chmod(join(first, 'bin/dlv'), 0o755);
  await path({ go: `go1.26.8\n\n${first}:/other` });
  expect(await find()).toBe(join(first, 'bin/dlv'));
  await path({ go: `go1.26.8\n${first}/bin\n/none` });
  expect(await find()).toBe(join(first, 'bin/dlv'));
});

test('one that cannot say its version, such as the shim of a version manager without one, is none', async () => {
  const first = await directoryWith({ 'bin/dlv': `#!/bin/sh\necho 'Version: 1.26.0'\n` });
  await chmod(join(first, 'bin/dlv'), 0o755);
  const shims = await path({ go: `go1.26.8\n\n${first}`, dlv: '' });
  await writeFile(join(shims, 'dlv'), '#!/bin/sh\necho "No version is set for command dlv" >&2\nexit 126\n');
  expect(await find()).toBe(join(first, 'bin/dlv'));
});

test('one that is missing is named with the command that installs it', async () => {
  await path({ go: 'go1.26.8\n\n/none' });
  const hint = 'go install github.com/go-delve/delve/cmd/dlv@v1.26';
  await expect(find()).rejects.toMatchObject({ code: 'debug.no-delve', hint });
});

test.each([
  ['older than Go', 'go1.26.8', delve('1.25.1'), 'go install github.com/go-delve/delve/cmd/dlv@v1.26'],
  ['much newer than Go', 'go1.24.3', delve('1.27.2'), 'go install github.com/go-delve/delve/cmd/dlv@v1.24'],
  [
    'built with a Go that writes another format',
    'go1.26.8',
    delve('1.26.0', 'go1.24.3'),
    'GOTOOLCHAIN=go1.25.0+auto go install github.com/go-delve/delve/cmd/dlv@v1.26',
  ],
])('one that is %s is refused with the command that installs a fitting one', async (_why, go, dlv, hint) => {
  await path({ go: `${go}\n\n/none`, dlv });
  await expect(find()).rejects.toMatchObject({ code: 'debug.no-delve', hint });
});

test.each([
  ['1.24.2', 'go1.21.13'],
  ['1.27.2', 'go1.25.0'],
])('delve %s supports %s', async (version, go) => {
  await path({ go: `${go}\n\n/none`, dlv: delve(version) });
  expect(await find()).toBe('dlv');
});

test('one on the PATH that does not fit is passed over for the one that go install has put elsewhere', async () => {
  const first = await directoryWith({ 'bin/dlv': `#!/bin/sh\necho 'Version: 1.26.0'\n` });
  await chmod(join(first, 'bin/dlv'), 0o755);
  await path({ go: `go1.26.8\n\n${first}`, dlv: delve('1.24.2') });
  expect(await find()).toBe(join(first, 'bin/dlv'));
});
