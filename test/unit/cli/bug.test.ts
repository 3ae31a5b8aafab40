import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MAIN = join(import.meta.dirname, '../../../src/main.ts');

test('the report of a bug sends no control characters to the terminal', () => {
  // The build sets the version; here, reading it for the first time is the bug.
  const preload = `let read = 0;
    const get = () => { if (read++ === 0) throw new Error('quoted \\x1b]0;title\\x07 \\x1b[2J'); return '0'; };
    Object.defineProperty(globalThis, 'DEVLOOP_VERSION', { get });`;
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`];
  const { status, stderr } = spawnSync(process.execPath, [...flags, MAIN, 'status'], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toContain('quoted');
  expect(stderr).toContain('This is a bug');
  expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
});
