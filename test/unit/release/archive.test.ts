import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { tarGz } from '../../../scripts/release/archive.ts';

const LICENSE = { name: 'LICENSE', mode: 0o644, content: Buffer.from('a licence\n') };
const PROGRAM = { name: 'devloop', mode: 0o755, content: Buffer.alloc(1500, 'x') };

test('tar lists the files with modes, sizes and no time', () => {
  const args = ['--utc', '--numeric-owner', '-tvzf', '-'];
  const listed = execFileSync('tar', args, { input: tarGz([PROGRAM, LICENSE]), encoding: 'utf8' });
  expect(listed.trim().split('\n')).toEqual([
    expect.stringMatching(/^-rw-r--r-- 0\/0 +10 1970-01-01 00:00 LICENSE$/),
    expect.stringMatching(/^-rwxr-xr-x 0\/0 +1500 1970-01-01 00:00 devloop$/),
  ]);
  const content = execFileSync('tar', ['-xzOf', '-', 'devloop'], { input: tarGz([PROGRAM, LICENSE]) });
  expect(content.equals(PROGRAM.content)).toBe(true);
});

test('an archive depends on its content only, and on neither the order nor the machine', () => {
  const archive = tarGz([PROGRAM, LICENSE]);
  expect(archive.equals(tarGz([LICENSE, PROGRAM]))).toBe(true);
  // No flags, so no name; no time; an unknown operating system.
  expect([...archive.subarray(3, 8), archive[9]]).toEqual([0, 0, 0, 0, 0, 255]);
  expect(createHash('sha256').update(archive).digest('hex')).not.toBe(
    createHash('sha256')
      .update(tarGz([PROGRAM]))
      .digest('hex'),
  );
});
