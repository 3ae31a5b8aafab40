import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeKeyPair, writeKeyPair } from '../../../src/certificates/files.ts';

const NAMES = { certificate: 'tls.crt', key: 'tls.key' };
let root = '';
let directory = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'devloop-files-'));
  directory = join(root, 'k8s-webhook-server', 'serving-certs');
});
afterEach(() => rmSync(root, { recursive: true }));

function generation(number: number) {
  return { certificate: `certificate ${number}`, key: `key ${number}` };
}

function visible(): string[] {
  return readdirSync(directory).filter((name) => !name.startsWith('..'));
}

function mode(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

test('files appear the way the kubelet writes them, for this user only', async () => {
  expect(await writeKeyPair(directory, generation(1), NAMES, { 'ca.crt': 'ca' })).toBe(true);
  expect(visible().sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  expect(readFileSync(join(directory, 'tls.crt'), 'utf8')).toBe('certificate 1');
  expect(readFileSync(join(directory, 'tls.key'), 'utf8')).toBe('key 1');
  expect(readlinkSync(join(directory, 'tls.crt'))).toBe('..data/tls.crt');
  expect(readlinkSync(join(directory, '..data'))).toMatch(/^\.\.2\d{3}_/);
  expect([mode(directory), mode(join(directory, '..data')), mode(join(directory, 'tls.key'))]).toEqual([
    '700',
    '700',
    '600',
  ]);
});

test('the same content is not written again; another is, and the old directory goes', async () => {
  await writeKeyPair(directory, generation(1), NAMES, { 'ca.crt': 'ca' });
  const before = readdirSync(directory);
  expect(await writeKeyPair(directory, generation(1), NAMES, { 'ca.crt': 'ca' })).toBe(false);
  expect(readdirSync(directory)).toEqual(before);
  expect(await writeKeyPair(directory, generation(2), NAMES)).toBe(true);
  expect(visible().sort()).toEqual(['tls.crt', 'tls.key']);
  expect(readdirSync(directory).length).toBe(before.length - 1);
});

test('other files are kept, and so is the mode of a directory that exists', async () => {
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o755);
  writeFileSync(join(directory, 'own.txt'), 'mine');
  await writeKeyPair(directory, generation(1), NAMES);
  expect(readFileSync(join(directory, 'tls.key'), 'utf8')).toBe('key 1');
  expect(mode(directory)).toBe('755');
  expect([mode(join(directory, '..data')), mode(join(directory, 'tls.key'))]).toEqual(['700', '600']);
  await removeKeyPair(directory);
  expect(readdirSync(directory)).toEqual(['own.txt']);
  expect(mode(directory)).toBe('755');
});

test.each<[string, (path: string) => void]>([
  ['a file', (path) => writeFileSync(path, 'mine')],
  ['a link', (path) => symlinkSync('/nowhere', path)],
  ['a directory', (path) => mkdirSync(path)],
])('%s of that name that devloop did not write is never replaced', async (_, make) => {
  for (const name of ['tls.crt', 'tls.key', 'ca.crt']) {
    const place = join(root, name);
    mkdirSync(place);
    make(join(place, name));
    const before = lstatSync(join(place, name)).ino;
    await expect(writeKeyPair(place, generation(1), NAMES, { 'ca.crt': 'ca' })).rejects.toMatchObject({
      code: 'certificate.not-written',
      message: expect.stringContaining(join(place, name)),
      hint: expect.stringContaining('devloop certs --output'),
    });
    expect(readdirSync(place)).toEqual([name]);
    expect(lstatSync(join(place, name)).ino).toBe(before);
  }
});

test('bytes that are not text stay as they are, and a file in a sub-directory is found there', async () => {
  const keystore = Buffer.from([0xfe, 0xed, 0xfe, 0xed, 0x00, 0xff, 0x80]);
  const extra = { 'keystore.jks': keystore, 'sub/ca.crt': 'ca', '../outside': 'no' };
  expect(await writeKeyPair(directory, generation(1), NAMES, extra)).toBe(true);
  expect(readFileSync(join(directory, 'keystore.jks')).equals(keystore)).toBe(true);
  expect(readFileSync(join(directory, 'sub/ca.crt'), 'utf8')).toBe('ca');
  expect(existsSync(join(directory, '../outside'))).toBe(false);
  expect(await writeKeyPair(directory, generation(1), NAMES, extra)).toBe(false);
  await removeKeyPair(directory);
  expect(readdirSync(root)).toEqual([]);
});

test('nothing is written below a directory that others can write', async () => {
  mkdirSync(join(root, 'open'));
  chmodSync(join(root, 'open'), 0o777);
  const inside = join(root, 'open/certs');
  await expect(writeKeyPair(inside, generation(1), NAMES)).rejects.toMatchObject({
    code: 'certificate.not-written',
    message: expect.stringContaining(join(root, 'open')),
  });
  expect(readdirSync(join(root, 'open'))).toEqual([]);
});

test('a directory that was made for it is removed with it, as far up as it was made', async () => {
  await writeKeyPair(directory, generation(1), NAMES);
  await writeKeyPair(directory, generation(2), NAMES);
  await removeKeyPair(directory);
  expect(readdirSync(root)).toEqual([]);
  await removeKeyPair(directory);
});

test('what a kubelet or a person keeps there is neither replaced nor removed', async () => {
  mkdirSync(join(directory, '..2026_01_01_00_00_00.123'), { recursive: true });
  symlinkSync('..2026_01_01_00_00_00.123', join(directory, '..data'));
  symlinkSync('..data/tls.crt', join(directory, 'tls.crt'));
  const before = readdirSync(directory);
  await expect(writeKeyPair(directory, generation(1), NAMES)).rejects.toMatchObject({
    code: 'certificate.not-written',
  });
  await removeKeyPair(directory);
  expect(readdirSync(directory)).toEqual(before);
});

test.skipIf(process.platform !== 'linux')('a directory in which nothing can be made is refused', async () => {
  await expect(writeKeyPair('/proc/nothing/certs', generation(1), NAMES)).rejects.toMatchObject({
    code: 'certificate.not-written',
  });
});

test('a file in place of the directory is refused and stays', async () => {
  const file = join(root, 'file');
  writeFileSync(file, 'mine');
  await expect(writeKeyPair(file, generation(1), NAMES)).rejects.toMatchObject({
    code: 'certificate.not-written',
    message: expect.stringContaining(file),
  });
  expect(readFileSync(file, 'utf8')).toBe('mine');
});

// Reads as a program does that follows `..data`: both files of the directory to which the link points at one moment.
const READER = `
const { parentPort, workerData } = require('node:worker_threads');
const { readFileSync, readlinkSync } = require('node:fs');
let stop = false;
let reads = 0;
const seen = new Set();
parentPort.on('message', () => { stop = true; });
(function round() {
  for (let index = 0; index < 50; index++) {
    const data = workerData + '/' + readlinkSync(workerData + '/..data');
    try {
      const certificate = readFileSync(data + '/tls.crt', 'utf8');
      seen.add(certificate + '/' + readFileSync(data + '/tls.key', 'utf8'));
      reads += 1;
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
    readFileSync(workerData + '/..made-by-devloop');
  }
  if (stop) parentPort.postMessage({ reads, seen: [...seen] });
  else setImmediate(round);
})();
`;

test('a reader beside 200 swaps never sees the certificate of one pair with the key of another', async () => {
  await writeKeyPair(directory, generation(0), NAMES);
  const reader = new Worker(READER, { eval: true, workerData: directory });
  await once(reader, 'online');
  for (let number = 1; number <= 200; number++) await writeKeyPair(directory, generation(number), NAMES);
  reader.postMessage('stop');
  const [{ reads, seen }] = (await once(reader, 'message')) as [{ reads: number; seen: string[] }];
  await reader.terminate();
  expect(reads).toBeGreaterThan(100);
  expect(seen.filter((pair) => !/^certificate (\d+)\/key \1$/.test(pair))).toEqual([]);
});
