import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  hardCodedDirectories,
  type LocalFiles,
  localFiles,
  removeLocalFiles,
  writeFoundPair,
  writeHardCoded,
} from '../../../src/local/key-pair-files.ts';
import type { FoundPair } from '../../../src/local/key-pairs.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';

const MOUNT = '/tmp/k8s-webhook-server/serving-certs';

test.each<[string, string[], string[], string[]]>([
  ['a constant in the sources', [], [MOUNT], [MOUNT]],
  ['a default that ends in a slash', ['--leader-elect'], [`${MOUNT}/`], [MOUNT]],
  ['a file in it', [], [`${MOUNT}/tls.crt`], [MOUNT]],
  ['a directory beside it', [], [`${MOUNT}-old/tls.crt`], []],
  ['a flag that names it', [`--webhook-cert-dir=${MOUNT}`], [MOUNT], []],
  ['a variable that names a file in it', [`${MOUNT}/tls.crt`], [MOUNT], []],
  ['sources that do not name it', [], ['/validate-a'], []],
])('hard-coded directories: %s', (_, words, sources, expected) => {
  expect(hardCodedDirectories([MOUNT], words, new Set(sources))).toEqual(expected);
});

test.each<[string, Parameters<typeof localFiles>[1], () => string]>([
  ['a controller of the session', { startsController: true }, () => `/s${MOUNT}`],
  [
    'a process that the user starts',
    { startsController: false },
    () => join(tmpdir(), MOUNT.slice('/tmp/'.length)),
  ],
  ['a directory that the user named', { startsController: true, keyPairDirectory: '/own' }, () => '/own'],
])('the key pair of %s', (_, wanted, expected) => {
  expect(localFiles('/s', wanted)).toEqual({ directory: '/s', keyPairDirectory: expected() });
});

async function place(): Promise<{
  files: LocalFiles;
  hardCoded: string;
  found: FoundPair;
  events: DevloopEvent[];
}> {
  const root = await mkdtemp(join(tmpdir(), 'devloop-hard-coded-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const hardCoded = join(root, 'run/secrets/certs');
  await mkdir(join(root, 'session'));
  const files: LocalFiles = { directory: join(root, 'session'), keyPairDirectory: join(root, 'own') };
  const pair = { certificate: 'certificate', key: 'key' } as FoundPair['pair'];
  const facts = { names: ['a.b.svc'], notAfter: new Date(0) } as FoundPair['facts'];
  const secret = { namespace: 'b', name: 's', files: {}, directories: [], exists: true };
  return { files, hardCoded, found: { pair, facts, secret }, events: [] };
}

test('the key pair is written where the sources look, and removed with the directories made for it', async () => {
  const { files, hardCoded, found } = await place();
  expect(await writeHardCoded(files, [hardCoded], found, () => {})).toEqual([hardCoded]);
  expect(await readFile(join(hardCoded, 'tls.key'), 'utf8')).toBe('key');
  // A killed session has left its key pair there, and the next session replaces it.
  const renewed = { ...found, pair: { certificate: 'new', key: 'new' } as FoundPair['pair'] };
  await writeHardCoded(files, [hardCoded], renewed, () => {});
  expect(await readFile(join(hardCoded, 'tls.key'), 'utf8')).toBe('new');
  // The end of the session does this, or the next session that finds its directory.
  await removeLocalFiles(files.directory);
  await expect(access(join(hardCoded, '../..'))).rejects.toThrow('ENOENT');
});

test("a key pair of the user's stays unchanged and is reported", async () => {
  const { files, hardCoded, found, events } = await place();
  await mkdir(hardCoded, { recursive: true });
  await writeFile(join(hardCoded, 'tls.key'), 'theirs');
  expect(await writeHardCoded(files, [hardCoded], found, (event) => events.push(event))).toEqual([]);
  expect(await readFile(join(hardCoded, 'tls.key'), 'utf8')).toBe('theirs');
  expect(events).toMatchObject([{ code: 'key-pair.own', values: { directory: hardCoded } }]);
});

test('a directory that cannot be written is a warning, not a failure', async () => {
  const { files, hardCoded, found, events } = await place();
  await writeFile(join(hardCoded, '../../..', 'run'), 'a file');
  expect(await writeHardCoded(files, [hardCoded], found, (event) => events.push(event))).toEqual([]);
  expect(events).toMatchObject([{ code: 'key-pair.not-written', values: { directory: hardCoded } }]);
});

test('an entry of the Secret that is not text is written byte for byte', async () => {
  const { files, found } = await place();
  const bytes = Buffer.from([0xfe, 0xed, 0xfe, 0xed, 0x00, 0x80, 0xff]);
  found.secret.files = { 'keystore.jks': bytes.toString('base64') };
  await writeFoundPair(files.keyPairDirectory, found, () => {});
  expect((await readFile(join(files.keyPairDirectory, 'keystore.jks'))).equals(bytes)).toBe(true);
});
