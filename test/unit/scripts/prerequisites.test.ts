import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ensurePrerequisites, SSH_PACKAGES } from '../../cluster/prerequisites.ts';

const isRootOnLinux = process.platform === 'linux' && process.getuid?.() === 0;

/** What apt-get is asked to install on a machine that has only Go. */
async function installed(more?: Record<string, string>): Promise<string[]> {
  const bin = mkdtempSync(join(tmpdir(), 'devloop-prerequisites-'));
  const asked = join(bin, 'asked');
  const before = process.env.PATH;
  onTestFinished(() => {
    process.env.PATH = before;
    rmSync(bin, { recursive: true });
  });
  for (const [name, script] of Object.entries({
    go: '',
    'apt-get': `echo "$*" >> ${asked}; test $1 = update`,
  })) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  process.env.PATH = bin;
  await expect(ensurePrerequisites(() => {}, more)).rejects.toThrow('apt-get install');
  return readFileSync(asked, 'utf8').trim().split(/\s+/);
}

it.runIf(isRootOnLinux)('a cluster alone, as the demo starts it, installs no SSH server', async () => {
  const alone = await installed();
  expect(alone).toContain('containerd');
  expect(alone.filter((name) => name.includes('ssh'))).toEqual([]);
});

it.runIf(isRootOnLinux)('the tests of the SSH route install one', async () => {
  expect(await installed(SSH_PACKAGES)).toContain('openssh-server');
});
