import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { signForMacos } from '../../../scripts/release/macos.ts';
import { setForTest } from '../../support/go-proxy.ts';
import { pathWith, releaseFiles } from '../../support/release-files.ts';

/** Stands in for macOS' own: notes its arguments, and adds a line to the program. */
const CODESIGN =
  'echo "$@" >> "$(dirname "$0")/asked"; for file; do :; done; case $1 in --force) echo "# signed" >> "$file" ;; esac';

test.each([
  [undefined, '--force --sign - '],
  ['Developer ID Application: X (Y)', '--force --timestamp --options runtime --entitlements '],
])('signs the executables for macOS, and those only (identity %s)', (identity, words) => {
  const { files, tmp } = releaseFiles({ isSigned: false });
  const bin = pathWith(tmp, [], { codesign: CODESIGN });
  setForTest('PATH', `${bin}:${process.env.PATH}`);
  const archive = (platform: string): string => join(files, `devloop-1.2.3-${platform}.tar.gz`);
  const listed = (platform: string): string =>
    execFileSync('tar', ['-tvzf', archive(platform)], { encoding: 'utf8' });
  const linux = readFileSync(archive('linux-x64'));
  signForMacos(files, identity);
  expect(readFileSync(archive('linux-x64')).equals(linux)).toBe(true);
  for (const platform of ['darwin-arm64', 'darwin-x64']) {
    const program = execFileSync('tar', ['-xzOf', archive(platform), 'devloop'], { encoding: 'utf8' });
    expect(program).toMatch(/# signed\n$/);
    expect(listed(platform).match(/^-rw[x-]r-[x-]r-[x-]/gm)).toEqual(['-rw-r--r--', '-rwxr-xr-x']);
  }
  const asked = readFileSync(join(bin, 'asked'), 'utf8').trim().split('\n');
  expect(asked).toHaveLength(4);
  expect(asked[0]).toContain(words);
  expect(asked[1]).toMatch(/^--verify --strict /);
});
