import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Container, Deployment } from '../../../src/cluster/api/objects.ts';
import { layOutFiles, planMounts } from '../../../src/local/mounts.ts';
import type { Target } from '../../../src/operator/discover.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const NAMESPACE = 'operators';

/** A manager whose arguments name a mounted file and a mounted directory without anything in it. */
async function plan(config: string) {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-mounts-'));
  onTestFinished(() => rm(directory, { recursive: true }));
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
    evidence: [],
    deployment: { object: object as unknown as Deployment, container },
  } as unknown as Target;
  const files = { directory, certificates: join(directory, 'certs'), mountedAt: [], fixed: [] };
  const events: DevloopEvent[] = [];
  const words = ['--config=/manager.yaml', '--more=/empty'];
  const { paths, needed } = await planMounts(cluster.api, target, files, words, (event) =>
    events.push(event),
  );
  for (const one of needed) await layOutFiles(one);
  return { at: Object.fromEntries(paths.map(({ from, to }) => [from, to])), events };
}

test('what arguments name lies here too: a file, and a directory with nothing in it', async () => {
  const { at } = await plan('health: :8081\n');
  expect(await readFile(at['/manager.yaml']!, 'utf8')).toBe('health: :8081\n');
  expect(await readdir(at['/empty']!)).toEqual([]);
});

test('leader election is off in the copy of a configuration file, and that is said', async () => {
  const { at, events } = await plan('leaderElection:\n  leaderElect: true\n');
  expect(await readFile(at['/manager.yaml']!, 'utf8')).toBe('leaderElection:\n  leaderElect: false\n');
  expect(events[0]).toEqual({
    type: 'note',
    message: expect.stringContaining('switched off in the copy of manager.yaml'),
  });
});
