import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ConfigMap, Secret } from '../../../src/cluster/api/objects.ts';
import type { EnvVar, Volume } from '../../../src/cluster/api/workloads.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { followConfiguration } from '../../../src/session/start/follow-configuration.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { fakeWatches } from '../../support/fake-watches.ts';
import { replanningWith } from './support/replanning.ts';

const NAMESPACE = 'shop';
const SETTINGS: Volume = { name: 'settings', configMap: { name: 'settings' } };
const OBJECT = { kind: 'ConfigMap', namespace: NAMESPACE, name: 'settings' };

let home: string;
let ending: AbortController;
let following: Promise<void>;
let cluster: FakeCluster;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'follow-'));
  ending = new AbortController();
  cluster = fakeCluster();
  cluster.put<ConfigMap>('ConfigMap', {
    metadata: { name: 'settings', namespace: NAMESPACE },
    data: { level: 'one', other: 'x' },
  });
  cluster.put<Secret>('Secret', {
    metadata: { name: 'password', namespace: NAMESPACE },
    data: { password: Buffer.from('p').toString('base64') },
  });
});
afterEach(async () => {
  ending.abort();
  await following;
  await rm(home, { recursive: true });
});

interface Given {
  volumes?: Volume[];
  mounts: Record<string, string>;
  env?: EnvVar[];
  /** Whether watching is forbidden. */
  isBlind?: boolean;
  /** What happens while the session begins. */
  early?: () => void;
}

/** Follows the configuration of a manager that names these paths. */
async function follow({ volumes = [SETTINGS], mounts, env = [], isBlind = false, early }: Given) {
  const watches = fakeWatches(cluster, NAMESPACE);
  cluster.onChange = watches.record;
  const api = {
    ...cluster.api,
    call: async (_: string, path: string, __: unknown, options: { query?: Record<string, string> } = {}) => {
      if (isBlind) throw refusal(403, 'Forbidden');
      return (await watches.list(path, options.query ?? {})) as never;
    },
    openStream: (path: string, options: never) => watches.open(path, options, async () => {}),
  };
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent) => void events.push(event);
  const paths = Object.values(mounts).map((at) => at.split(':')[0]);
  // The checkout's sources name this variable.
  const settings = { name: 'SETTINGS', value: paths.join() };
  const given = { api, directory: join(home, 's1'), signal: ending.signal, emit, volumes, mounts };
  const { replanning, work, next } = await replanningWith({ ...given, env: [settings, ...env] }, true);
  events.length = 0;
  early?.();
  following = followConfiguration({ replanning, keyPairMounts: [] }, work);
  const told = (code: string) =>
    events.flatMap((event) =>
      'values' in event && 'code' in event && event.code === code ? [event.values] : [],
    );
  const directory = async (prefix: string) =>
    join(
      home,
      's1/mounts',
      (await readdir(join(home, 's1/mounts'))).find((name) => name.startsWith(prefix))!,
    );
  const read = async (prefix: string, name: string) =>
    await readFile(join(await directory(prefix), name), 'utf8').catch(() => undefined);
  // The first look finds nothing new.
  await sleep(500);
  return { events, told, next, directory, read };
}

const edit = (data: Record<string, string>) =>
  cluster.edit<ConfigMap>('ConfigMap', 'settings', NAMESPACE, (object) => {
    object.data = data;
  });

it('an edited ConfigMap reaches its copy as the kubelet does it: all files at once, by one link', async () => {
  const { told, read, directory, next, events } = await follow({ mounts: { settings: '/settings' } });
  const link = join(await directory('settings'), '..data');
  const before = await readlink(link);
  edit({ level: 'two', more: 'y' });
  await eventually(async () => expect(told('configuration.updated')).toHaveLength(1));
  expect(told('configuration.updated')).toEqual([{ objects: [OBJECT], paths: ['/settings'] }]);
  expect(await readlink(link)).not.toBe(before);
  expect(await readlink(join(await directory('settings'), 'level'))).toBe('..data/level');
  expect([await read('settings', 'level'), await read('settings', 'more')]).toEqual(['two', 'y']);
  expect(await read('settings', 'other')).toBeUndefined();
  expect((await readdir(await directory('settings'))).filter((name) => name.startsWith('..20'))).toHaveLength(
    1,
  );
  expect(next).toEqual([]);
  // What was said at the start is not said again.
  expect(events.map(({ type }) => type)).toEqual(['note']);
});

it('many edits in a second are one, and an edit that changes no content is none', async () => {
  const { told, read } = await follow({ mounts: { settings: '/settings' } });
  for (let count = 0; count <= 50; count++) {
    edit({ level: String(count) });
    await sleep(5);
  }
  await eventually(async () => expect(await read('settings', 'level')).toBe('50'));
  cluster.edit<ConfigMap>('ConfigMap', 'settings', NAMESPACE, ({ metadata }) => {
    metadata.labels = { a: 'b' };
  });
  await sleep(1_500);
  expect(told('configuration.updated').length).toBeLessThan(4);
});

it('a deleted object keeps its last copy, which is said once; the files of an optional one are gone, as in a Pod', async () => {
  const optional: Volume = { name: 'optional', secret: { secretName: 'password', optional: true } };
  const mounts = { settings: '/settings', optional: '/optional' };
  const { told, read } = await follow({ volumes: [SETTINGS, optional], mounts });
  cluster.drop('ConfigMap', 'settings', NAMESPACE);
  cluster.drop('Secret', 'password', NAMESPACE);
  await eventually(async () => expect(await read('optional', 'password')).toBeUndefined());
  expect(await read('settings', 'level')).toBe('one');
  expect(told('configuration.deleted')).toEqual([{ object: OBJECT }]);
  cluster.put<ConfigMap>('ConfigMap', {
    metadata: { name: 'settings', namespace: NAMESPACE },
    data: { level: 'new' },
  });
  await eventually(async () => expect(await read('settings', 'level')).toBe('new'));
  expect(told('configuration.deleted')).toHaveLength(1);
});

it('variables and what is mounted with subPath change at the next start, and are said once', async () => {
  const configMapKeyRef = { name: 'settings', key: 'level' };
  const env = [{ name: 'NODE', valueFrom: { configMapKeyRef } }];
  const mounts = { settings: '/fixed.txt:level' };
  const { told, next } = await follow({ mounts, env });
  const copies = async () => {
    const directories = await readdir(join(home, 's1/mounts'));
    return await Promise.all(
      directories.map((name) => readFile(join(home, 's1/mounts', name, 'level'), 'utf8')),
    );
  };
  for (const [index, level] of ['two', 'three'].entries()) {
    edit({ level });
    await eventually(async () => expect(next).toHaveLength(index + 1));
    expect(next.at(-1)!.plan.env).toMatchObject({ NODE: level });
  }
  // The running controller still has the first one, and nobody will get the second one.
  await eventually(async () => expect((await copies()).toSorted()).toEqual(['one', 'three']));
  next.at(-1)!.start();
  await eventually(async () => expect(await copies()).toEqual(['three']));
  expect(told('configuration.variables')).toEqual([{ objects: [OBJECT], variables: ['NODE'] }]);
  expect(told('configuration.sub-path')).toEqual([{ objects: [OBJECT], path: '/fixed.txt' }]);
  expect(told('configuration.updated')).toEqual([]);
});

it('keys and paths that the API server would refuse are not written', async () => {
  const items = [
    { key: 'level', path: '../../outside' },
    { key: 'level', path: '/absolute' },
    { key: 'level', path: '..data' },
    { key: 'level', path: 'sub/level' },
  ];
  const both: Volume[] = [SETTINGS, { name: 'items', configMap: { name: 'settings', items } }];
  const { read, directory } = await follow({
    volumes: both,
    mounts: { settings: '/settings', items: '/items' },
  });
  edit({ level: 'two', '../key': 'x', '..data': 'x', '.': 'x', 'a/b': 'x', ['k'.repeat(254)]: 'x' });
  await eventually(async () => expect(await read('items', 'sub/level')).toBe('two'));
  const visible = async (prefix: string) =>
    (await readdir(await directory(prefix))).filter((name) => !name.startsWith('..'));
  expect([await visible('settings'), await visible('items')]).toEqual([['level'], ['sub']]);
  expect((await readdir(home)).concat(await readdir(join(home, 's1')))).toEqual(['s1', 'mounts']);
});

it('an account that is not allowed to watch is told', async () => {
  const { told } = await follow({ mounts: { settings: '/settings' }, isBlind: true });
  expect(told('configuration.not-watched')).toMatchObject([{ object: OBJECT }]);
});

it('a copy that cannot be written is written later', async () => {
  const { told, read, directory } = await follow({ mounts: { settings: '/settings' } });
  const { mkdir, rmdir } = await import('node:fs/promises');
  const inTheWay = join(await directory('settings'), 'more');
  await mkdir(inTheWay);
  edit({ level: 'two', more: 'y' });
  await eventually(async () => expect(told('configuration.not-updated')).toHaveLength(1));
  await rmdir(inTheWay);
  await eventually(async () => expect(await read('settings', 'more')).toBe('y'));
  expect(told('configuration.not-updated')).toHaveLength(1);
});

it('an edit while the session begins is named, too', async () => {
  const valueFrom = { configMapKeyRef: { name: 'settings', key: 'level' } };
  const { told } = await follow({
    mounts: { settings: '/settings' },
    env: [{ name: 'NODE', valueFrom }],
    early: () => void edit({ level: 'two', other: 'x' }),
  });
  await eventually(async () => expect(told('configuration.updated')).toHaveLength(1));
  expect(told('configuration.variables')).toEqual([{ objects: [OBJECT], variables: ['NODE'] }]);
});
