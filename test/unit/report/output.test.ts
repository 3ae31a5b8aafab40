import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  createWriteStream,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createOutput } from '../../../src/report/output.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'devloop-output-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const noStream = (): never => {
  throw new Error('no stream is needed');
};

function pipe(flags: number): { reader: number; writer: number } {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(path, constants.O_WRONLY | flags) };
}

it('writes to a file and to a pipe without a stream', async () => {
  const file = join(directory, 'file');
  const fd = openSync(file, 'w');
  const output = createOutput(fd, noStream, noStream);
  output.write('ä');
  output.write('b');
  await output.flushed();
  closeSync(fd);
  expect(readFileSync(file, 'utf8')).toBe('äb');
  expect(output.isTTY).toBeFalsy();

  const { reader, writer } = pipe(0);
  createOutput(writer, noStream, noStream).write('c');
  const buffer = Buffer.alloc(8);
  expect(buffer.toString('utf8', 0, readSync(reader, buffer))).toBe('c');
  closeSync(reader);
  closeSync(writer);
});

it('says later, and once, why output is lost', async () => {
  const file = join(directory, 'file');
  writeFileSync(file, '');
  const fd = openSync(file, 'r');
  const errors: unknown[] = [];
  const output = createOutput(fd, noStream, ({ code }) => errors.push(code));
  output.write('a');
  output.write('b');
  expect(errors).toEqual([]);
  await output.flushed();
  expect(errors).toEqual(['EBADF']);
  closeSync(fd);
});

it('leaves the rest to a stream where a full pipe does not wait for its reader', async () => {
  const { reader, writer } = pipe(constants.O_NONBLOCK);
  const copy = join(directory, 'copy');
  const output = createOutput(
    writer,
    () => createWriteStream(copy) as unknown as NodeJS.WriteStream,
    noStream,
  );
  const text = 'ab'.repeat(100_000);
  output.write(text);
  output.write('end');
  await output.flushed();
  const buffer = Buffer.alloc(text.length);
  const piped = buffer.toString('utf8', 0, readSync(reader, buffer));
  expect(piped.length).toBeGreaterThan(0);
  expect(piped + readFileSync(copy, 'utf8')).toBe(`${text}end`);
  closeSync(reader);
  closeSync(writer);
});
