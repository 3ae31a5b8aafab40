import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Secret } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { followManager } from '../../../src/session/start/follow-manager.ts';
import { eventually } from '../../support/eventually.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { replanningWith } from './support/replanning.ts';

const cluster = fakeCluster();
let home: string;
let ending: AbortController;
let events: DevloopEvent[];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'follow-'));
  ending = new AbortController();
  events = [];
  cluster.hook = {};
  cluster.put<Secret>('Secret', {
    metadata: { name: 'settings', namespace: 'shop' },
    data: { 'settings.yaml': Buffer.from('password: x').toString('base64') },
  });
});
afterEach(() => rm(home, { recursive: true }));

/** Follows the manager of a session whose directory does not exist, as after its end. `copy` finds the copy of the manager's Secret. */
async function following(): Promise<{
  follow: (object: Workload) => void;
  object: Workload;
  copy: () => Promise<string | undefined>;
}> {
  const directory = join(home, 's1');
  const emit = (event: DevloopEvent) => void events.push(event);
  const volumes = [{ name: 'settings', secret: { secretName: 'settings' } }];
  const given = { api: cluster.api, directory, signal: ending.signal, emit, volumes };
  const { replanning, work } = await replanningWith({ ...given, mounts: { settings: '/settings' } }, false);
  const follow = followManager(work, replanning);
  const { object } = replanning.manager!;
  const copy = async () => (await readdir(join(directory, 'mounts')).catch(() => []))[0];
  return { follow, object, copy };
}

/** A new version of the manager that reads the Secret. */
function reading(object: Workload): Workload {
  const next = structuredClone(object);
  next.spec.template.spec.containers[0]!.env = [{ name: 'SETTINGS', value: '/settings/settings.yaml' }];
  return next;
}

it('copies what a new version of the manager mounts', async () => {
  const { follow, object, copy } = await following();
  follow(reading(object));
  await eventually(async () => expect(events).toContainEqual(expect.objectContaining({ restart: true })));
  expect(await copy()).toContain('settings');
});

it('writes nothing once the session has ended: nobody would remove it', async () => {
  const { follow, object, copy } = await following();
  const read = Promise.withResolvers<void>();
  cluster.hook.after = (_, what) => {
    if (what !== 'Secret shop/settings') return;
    ending.abort();
    read.resolve();
  };
  follow(reading(object));
  await read.promise;
  await sleep(200);
  expect(await copy()).toBeUndefined();
});
