import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Secret } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { planController } from '../../../src/local/plan.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { followManager } from '../../../src/session/start/follow-manager.ts';
import type { Session } from '../../../src/session/start/session.ts';
import { eventually } from '../../support/eventually.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { partly } from '../../support/partly.ts';
import { settingsOf } from '../../support/settings.ts';
import { CHECKOUT, inputs } from '../local/support/inputs.ts';

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

/** Follows the manager of a session whose directory does not exist, as after its end. `copy` is the copy of the manager's Secret. */
async function following(): Promise<{ follow: (object: Workload) => void; object: Workload; copy: string }> {
  const directory = join(home, 's1');
  const files = { directory, keyPairDirectory: join(directory, 'certs') };
  const { target, ...rest } = inputs({ api: cluster.api, files });
  const { container, object } = target.manager!;
  container.volumeMounts = [{ name: 'settings', mountPath: '/settings' }];
  object.spec.template.spec.volumes = [{ name: 'settings', secret: { secretName: 'settings' } }];
  const work = {
    ...{ api: cluster.api, sessionId: 's1', signal: ending.signal },
    emit: (event: DevloopEvent) => void events.push(event),
  };
  const { plan } = await planController({ ...rest, target }, work);
  const session = partly<Session>({
    target,
    files,
    sessionId: 's1',
    moved: new Map(),
    facts: rest.facts,
    plan: { standIn: [], pause: [] },
    options: { controller: true },
    io: { env: rest.env },
    context: {
      api: cluster.api,
      root: CHECKOUT,
      checkout: rest.checkout,
      settings: settingsOf({ controller: { run: ['./run'], env: { LEVEL: 'debug' } } }),
    },
  });
  const supervisor = { runWith() {} } as never;
  const follow = followManager(session, work, {
    ...{ pairs: new Map(), proxy: undefined, controller: plan, supervisor },
  });
  return { follow, object, copy: join(directory, 'mounts', '0', 'settings.yaml') };
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
  expect(existsSync(copy)).toBe(true);
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
  expect(existsSync(copy)).toBe(false);
});
