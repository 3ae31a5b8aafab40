import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hasDesktop, openBrowser, tunnelTo } from '../../../src/machine/browser.ts';

const OPENER = process.platform === 'darwin' ? 'open' : 'xdg-open';

/** Runs with a browser opener of our own on the PATH. */
async function withOpener(
  script: string | undefined,
  use: (env: Record<string, string>, seen: string) => Promise<void>,
) {
  const directory = await mkdtemp(join(tmpdir(), 'opener-'));
  const seen = join(directory, 'seen');
  if (script !== undefined) {
    await writeFile(join(directory, OPENER), `#!/bin/sh\n${script}\n`);
    await chmod(join(directory, OPENER), 0o755);
  }
  try {
    await use({ PATH: directory, SEEN: seen }, seen);
  } finally {
    await rm(directory, { recursive: true });
  }
}

it('gives the address to the opener as one argument, without a shell', async () => {
  const url = 'http://127.0.0.1:1/#a$(b)`c`;d e';
  await withOpener('printf "%s|" "$#" "$@" > "$SEEN"', async (env, seen) => {
    expect(await openBrowser(url, env)).toBe(true);
    expect(await readFile(seen, 'utf8')).toBe(`1|${url}|`);
  });
});

it.each([
  ['fails', 'exit 3'],
  ['is missing', undefined],
])('says that no browser was opened where the opener %s', async (_, script) => {
  await withOpener(script, async (env) => expect(await openBrowser('http://127.0.0.1:1/', env)).toBe(false));
});

it.runIf(process.platform === 'linux')('opens a browser only where there is a desktop', () => {
  expect(hasDesktop({ DISPLAY: ':0' })).toBe(true);
  expect(hasDesktop({ WAYLAND_DISPLAY: 'wayland-0' })).toBe(true);
  expect(hasDesktop({ SSH_CONNECTION: '10.0.0.2 50000 10.0.0.1 22', DISPLAY: '' })).toBe(false);
});

it('names the command that makes the page reachable over SSH', () => {
  const env = { SSH_CONNECTION: '10.0.0.2 50000 10.0.0.1 22', USER: 'ann' };
  expect(tunnelTo('4123', env)).toBe('ssh -L 4123:127.0.0.1:4123 ann@10.0.0.1');
  expect(tunnelTo('4123', { ...env, SSH_CONNECTION: '::1 50000 fd00::1 22' })).toBe(
    'ssh -L 4123:127.0.0.1:4123 ann@fd00::1',
  );
  expect(tunnelTo('4123', {})).toBeUndefined();
});
