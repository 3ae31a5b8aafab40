import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';

/** Each file of unit tests has a directory of its own for temporary files, and fails if it leaves something there. */
let directory: string;
let before: string | undefined;

beforeAll(() => {
  before = process.env.TMPDIR;
  directory = mkdtempSync(join(tmpdir(), 'unit-'));
  // Some tests run programs as other users.
  chmodSync(directory, 0o755);
  process.env.TMPDIR = directory;
});

afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  // A go that is killed cannot remove where it builds.
  const left = readdirSync(directory).filter((name) => !/^go-build\d+$/.test(name));
  rmSync(directory, { recursive: true });
  expect(left, 'what the tests of this file left behind').toEqual([]);
});
