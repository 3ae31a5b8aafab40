import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  fixedDirectories,
  type LocalFiles,
  layOutFixed,
  removeLocalFiles,
} from '../../../src/local/files.ts';
import type { FoundPair } from '../../../src/local/key-pair-files.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';

const MOUNT = '/tmp/k8s-webhook-server/serving-certs';

test.each<[string, string[], string[], string[]]>([
  ['a constant of the sources', [], [MOUNT], [MOUNT]],
  ['a default that ends in a slash', ['--leader-elect'], [`${MOUNT}/`], [MOUNT]],
  ['a flag that names it', [`--webhook-cert-dir=${MOUNT}`], [MOUNT], []],
  ['a variable that names a file in it', [`${MOUNT}/tls.crt`], [MOUNT], []],
  ['sources that do not know it', [], ['/validate-a'], []],
])('%s', (_, words, sources, expected) => {
  expect(fixedDirectories([MOUNT], words, new Set(sources))).toEqual(expected);
});

async function place(): Promise<{
  files: LocalFiles;
  fixed: string;
  found: FoundPair;
  events: DevloopEvent[];
}> {
  const root = await mkdtemp(join(tmpdir(), 'devloop-fixed-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const fixed = join(root, 'run/secrets/certs');
  await mkdir(join(root, 'session'));
  const files: LocalFiles = {
    directory: join(root, 'session'),
    certificates: join(root, 'own'),
    mountedAt: [fixed],
    fixed: [fixed],
  };
  const pair = { certificate: 'certificate', key: 'key' } as FoundPair['pair'];
  const facts = { names: ['a.b.svc'], notAfter: new Date(0) } as FoundPair['facts'];
  const secret = { namespace: 'b', name: 's', files: {}, exists: true };
  return { files, fixed, found: { pair, facts, secret }, events: [] };
}

test('the key pair lies where the sources look, and goes with all that was made for it', async () => {
  const { files, fixed, found, events } = await place();
  await layOutFixed(files, found, (event) => events.push(event));
  expect(await readFile(join(fixed, 'tls.key'), 'utf8')).toBe('key');
  expect(files.fixed).toEqual([fixed]);
  // A session that was killed has left it there: the next one takes it over.
  await layOutFixed(
    files,
    { ...found, pair: { certificate: 'new', key: 'new' } as FoundPair['pair'] },
    () => {},
  );
  expect(await readFile(join(fixed, 'tls.key'), 'utf8')).toBe('new');
  // As that session's own end would, or whoever finds its directory.
  await removeLocalFiles(files.directory);
  await expect(access(join(fixed, '../..'))).rejects.toThrow('ENOENT');
});

test('a key pair of somebody else stays there, and is told', async () => {
  const { files, fixed, found, events } = await place();
  await mkdir(fixed, { recursive: true });
  await writeFile(join(fixed, 'tls.key'), 'theirs');
  await layOutFixed(files, found, (event) => events.push(event));
  expect(await readFile(join(fixed, 'tls.key'), 'utf8')).toBe('theirs');
  expect(events).toEqual([{ type: 'note', message: expect.stringContaining(fixed) }]);
  expect(files.fixed).toEqual([]);
});

test('a place where nothing can be written is told, and up goes on', async () => {
  const { files, fixed, found, events } = await place();
  await writeFile(join(fixed, '../../..', 'run'), 'a file');
  await layOutFixed(files, found, (event) => events.push(event));
  expect(events).toEqual([
    {
      type: 'warning',
      message: expect.stringContaining(`may look for its key pair in ${fixed}: Cannot keep`),
    },
  ]);
  expect(files.fixed).toEqual([]);
});
