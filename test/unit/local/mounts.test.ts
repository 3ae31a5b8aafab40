import { lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Container, Workload } from '../../../src/cluster/api/objects.ts';
import { planMounts, writeNeededFiles } from '../../../src/local/mounts.ts';
import type { Target } from '../../../src/operator/target.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const NAMESPACE = 'operators';

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-mounts-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

/** A manager whose arguments name a mounted file and an empty mounted directory. */
async function plan(config: string) {
  const directory = await temporary();
  const cluster = fakeCluster();
  const metadata = (name: string) => ({ name, namespace: NAMESPACE });
  cluster.put('ConfigMap', { metadata: metadata('config'), data: { 'manager.yaml': config } });
  cluster.put('Secret', { metadata: metadata('empty') });
  const container = {
    name: 'manager',
    volumeMounts: [
      { name: 'a', mountPath: '/manager.yaml', subPath: 'manager.yaml' },
      { name: 'b', mountPath: '/empty' },
    ],
  } as Container;
  const volumes = [
    { name: 'a', configMap: { name: 'config' } },
    { name: 'b', secret: { secretName: 'empty' } },
  ];
  const object = {
    metadata: metadata('manager'),
    spec: { template: { spec: { volumes, containers: [container] } } },
  };
  const target = {
    services: [],
    namespace: NAMESPACE,
    manager: {
      ref: { kind: 'Deployment', name: 'manager' },
      object: object as unknown as Workload,
      container,
    },
  } as unknown as Target;
  const files = { directory, keyPairDirectory: join(directory, 'certs') };
  const events: DevloopEvent[] = [];
  const words = ['--config=/manager.yaml', '--more=/empty'];
  const inputs = { api: cluster.api, target, files, keyPairMounts: [] };
  const { paths, needed } = await planMounts(inputs, words, (event) => events.push(event));
  await writeNeededFiles(needed);
  return { at: Object.fromEntries(paths.map(({ from, to }) => [from, to])), events };
}

test('a mounted file and an empty mounted directory that the arguments name are copied', async () => {
  const { at } = await plan('health: :8081\n');
  expect(await readFile(at['/manager.yaml']!, 'utf8')).toBe('health: :8081\n');
  expect(await readdir(at['/empty']!)).toEqual([]);
});

test('leader election is turned off in the copy of a configuration file, with a note', async () => {
  const { at, events } = await plan('leaderElection:\n  leaderElect: true\n');
  expect(await readFile(at['/manager.yaml']!, 'utf8')).toBe('leaderElection:\n  leaderElect: false\n');
  expect(events[0]).toEqual({ type: 'note', message: expect.stringContaining('copy of manager.yaml') });
});

test('files are written again for a new version of the manager', async () => {
  const directory = await temporary();
  const write = (text: string) => writeNeededFiles([{ directory, files: { kubeconfig: text } }]);
  await write('one');
  const { ino } = await lstat(join(directory, 'kubeconfig'));
  await write('one');
  expect((await lstat(join(directory, 'kubeconfig'))).ino).toBe(ino);
  await write('two');
  expect(await readFile(join(directory, 'kubeconfig'), 'utf8')).toBe('two');
  expect((await lstat(join(directory, 'kubeconfig'))).mode & 0o777).toBe(0o600);
  expect(await readdir(directory)).toEqual(['kubeconfig']);
});

test('a link where a file is needed is neither followed nor replaced', async () => {
  const directory = await temporary();
  await writeFile(join(directory, 'theirs'), 'theirs');
  await symlink('theirs', join(directory, 'kubeconfig'));
  const writing = writeNeededFiles([{ directory, files: { kubeconfig: 'ours' } }]);
  await expect(writing).rejects.toMatchObject({ code: 'files.not-written' });
  expect(await readFile(join(directory, 'theirs'), 'utf8')).toBe('theirs');
  expect((await lstat(join(directory, 'kubeconfig'))).isSymbolicLink()).toBe(true);
});
