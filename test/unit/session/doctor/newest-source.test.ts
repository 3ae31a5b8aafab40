import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newestSource } from '../../../../src/session/doctor/image.ts';
import { directoryWith } from '../../controller/support/places.ts';

it('asking git how old a checkout is runs no program that the checkout names, and writes nothing', async () => {
  const directory = await directoryWith({
    'main.go': 'package main\n',
    '.gitattributes': '*.go filter=evil\n',
    'evil.sh': '#!/bin/sh\ntouch "$(dirname "$0")/RAN"\ncat\n',
  });
  const program = join(directory, 'evil.sh');
  chmodSync(program, 0o755);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: directory, encoding: 'utf8' });
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'x');
  const head = git('rev-parse', 'HEAD').trim();
  git('config', 'core.fsmonitor', program);
  git('config', 'filter.evil.clean', program);
  git('config', 'log.showSignature', 'true');
  git('config', 'gpg.program', program);
  for (const hook of ['post-index-change', 'fsmonitor-watchman']) {
    writeFileSync(join(directory, '.git/hooks', hook), `#!/bin/sh\ntouch ${join(directory, 'RAN')}\n`, {
      mode: 0o755,
    });
  }
  writeFileSync(join(directory, 'main.go'), 'package main\n\nvar edited = 1\n');
  const newest = await newestSource(directory, new AbortController().signal);
  expect(newest).toMatchObject({ what: 'main.go', head });
  expect(existsSync(join(directory, 'RAN'))).toBe(false);
});
