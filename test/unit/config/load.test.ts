import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { DevloopError } from '../../../src/errors.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'devloop-config-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

async function failure(): Promise<DevloopError> {
  const error = await loadConfig(root).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DevloopError)) throw new Error(`expected a DevloopError, got ${error}`);
  expect(error.code).toBe('config.invalid');
  expect(error.message).toContain(join(root, 'devloop.yaml'));
  expect(error.hint).toContain('docs/');
  return error;
}

it('finds the nearest file upwards', async () => {
  write('go.mod', 'module m');
  write('devloop.yaml', 'context: outer');
  write('a/devloop.yaml', 'context: inner');
  write('a/b/c/x', '');
  const found = await loadConfig(join(root, 'a/b/c'));
  expect(found).toEqual({ file: join(root, 'a/devloop.yaml'), config: { context: 'inner' } });
});

it('finds the file beside .git, and none outside the checkout', async () => {
  write('devloop.yaml', 'context: outer');
  write('repo/.git', 'gitdir: elsewhere');
  write('repo/a/x', '');
  expect(await loadConfig(join(root, 'repo/a'))).toBeUndefined();
  write('repo/devloop.yaml', 'context: inner');
  expect(await loadConfig(join(root, 'repo/a'))).toMatchObject({ config: { context: 'inner' } });
});

it('names the file and every problem in one error', async () => {
  write('devloop.yaml', 'contxt: a\nport: 0\n');
  const { message } = await failure();
  expect(message).toMatch(/\n {2}1:1 {2}.*`contxt`.*\n {2}2:7 {2}.*`port`/);
});

it('does not bury the user in problems', async () => {
  write('devloop.yaml', Array.from({ length: 50 }, (_, i) => `key${i}: 1\n`).join(''));
  const { message } = await failure();
  expect(message.split('\n')).toHaveLength(22);
  expect(message).toMatch(/and 30 more$/);
});

it('says why a file cannot be read', async () => {
  write('devloop.yaml', Uint8Array.of(0xff, 0xfe, 0x00, 0xd8));
  expect((await failure()).message).toContain('UTF-8');
  write('devloop.yaml', 'a'.repeat(70_000));
  expect((await failure()).message).toContain('70000 bytes');
  rmSync(join(root, 'devloop.yaml'));
  mkdirSync(join(root, 'devloop.yaml'));
  expect((await failure()).message).toContain('not a file');
});

it('looks no further than the root of the module without .git, and nowhere else without either', async () => {
  write('devloop.yaml', 'context: outer');
  write('module/go.mod', 'module m');
  write('module/a/x', '');
  expect(await loadConfig(join(root, 'module/a'))).toBeUndefined();
  write('module/devloop.yaml', 'context: inner');
  expect(await loadConfig(join(root, 'module/a'))).toMatchObject({ config: { context: 'inner' } });
  write('plain/a/x', '');
  expect(await loadConfig(join(root, 'plain/a'))).toBeUndefined();
  expect(await loadConfig(root)).toMatchObject({ config: { context: 'outer' } });
});

it('finds the file beside .git from a module below it', async () => {
  write('.git/HEAD', '');
  write('devloop.yaml', 'context: outer');
  write('operators/one/go.mod', 'module m');
  expect(await loadConfig(join(root, 'operators/one'))).toMatchObject({ config: { context: 'outer' } });
});

it.skipIf(process.getuid?.() !== 0)('uses no file of another user', async () => {
  write('devloop.yaml', 'controller: {run: ./evil}');
  chownSync(join(root, 'devloop.yaml'), 65_534, 65_534);
  expect((await failure()).message).toContain('another user (uid 65534)');
});
