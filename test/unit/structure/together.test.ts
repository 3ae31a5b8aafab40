import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { filesToLeaveOut } from '../../machine/together.ts';

const ROOT = join(import.meta.dirname, '../../..');
const shared = filesToLeaveOut(['run']);

test('a whole run leaves out the files that share a cluster, since others import them', () => {
  expect(shared.length).toBeGreaterThan(1);
  expect(new Set(shared).size).toBe(shared.length);
  for (const file of shared) expect(existsSync(join(ROOT, file)), file).toBe(true);
  for (const args of [
    ['run', 'test/e2e'],
    ['run', '--project', 'e2e', 'test/e2e/up.soak.test.ts'],
    ['run', ''],
  ])
    expect(filesToLeaveOut(args)).toEqual(shared);
});

test.each(shared.map((file) => basename(file)))('%s runs alone where it is named', (file) => {
  for (const arg of [`test/e2e/${file}`, file, file.slice(0, 5)])
    expect(filesToLeaveOut(['run', arg])).toEqual(['test/e2e/together/*.test.ts']);
});
