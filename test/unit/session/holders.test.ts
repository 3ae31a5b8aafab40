import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Kind } from '../../../src/cluster/api/kinds.ts';
import type { KubeObject, Lease, WebhookConfiguration } from '../../../src/cluster/api/objects.ts';
import { HOLDER_ANNOTATION, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import type { LeaseHolder } from '../../../src/cluster/takeover/lease-holder.ts';
import { holdersIn } from '../../../src/cluster/takeover/own-leases.ts';
import type { Target } from '../../../src/operator/target.ts';
import { heldBy, liveHolder } from '../../../src/session/context/holders.ts';
import type { LocalMachine } from '../../../src/session/context/local-machine.ts';
import { takenBy } from '../../../src/session/context/named.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { partly } from '../../support/partly.ts';

let cluster: FakeCluster;
let machine: LocalMachine;

beforeEach(async () => {
  cluster = fakeCluster();
  machine = {
    user: 'ann',
    host: 'desk',
    processStart: '7',
    stateDirectory: await mkdtemp(join(tmpdir(), 'devloop-holders-')),
    isHere: () => true,
    isRunning: async ({ pid }) => pid === 42,
  };
});
afterEach(() => rm(machine.stateDirectory, { recursive: true }));

function put(kind: Kind, name: string, session = '0a1b2c3d'): void {
  cluster.put(kind, { metadata: { name, namespace: 'shop', labels: { [SESSION_LABEL]: session } } });
}

const LEASE = 'devloop.service.hook';

function putLease(
  pid: number,
  session = '0a1b2c3d',
  { name = LEASE, namespace = 'shop', targets = [] as object[] } = {},
): void {
  const holder = {
    user: 'bob',
    host: 'desk',
    pid,
    processStart: '7',
    since: '',
    route: '',
    targets,
    health: '',
  };
  cluster.put<Lease>('Lease', {
    metadata: {
      name,
      namespace,
      labels: { [SESSION_LABEL]: session },
      annotations: { [HOLDER_ANNOTATION]: JSON.stringify(holder) },
    },
    spec: { holderIdentity: 'bob@desk' },
  });
}

/** The ClusterRole `view` does not contain Leases. `but` is a namespace in which they can be listed nevertheless. */
function forbidLeases(but?: string): void {
  cluster.hook.before = (verb, what) => {
    if (verb === 'list' && what.startsWith('Lease') && what !== `Lease ${but}`)
      throw refusal(403, 'Forbidden');
  };
}

async function holder(): Promise<LeaseHolder | undefined> {
  const { marked } = await findMarked(cluster.api, ['own']);
  const observer = { api: cluster.api, emit: () => {}, signal: new AbortController().signal };
  const traces = {
    sessionId: '0a1b2c3d',
    objects: marked.filter(({ sessionId }) => sessionId === '0a1b2c3d'),
  };
  return await liveHolder(observer, machine, traces, () =>
    findMarked(cluster.api, ['shop'], { sessionId: '0a1b2c3d' }),
  );
}

it('is alive, or dead, as its Lease shows', async () => {
  put('Service', 'hook');
  putLease(42);
  expect(await holder()).toMatchObject({ sessionId: '0a1b2c3d', alive: true });
  cluster.drop('Lease', 'devloop.service.hook', 'shop');
  putLease(43);
  expect(await holder()).toBeUndefined();
});

it('is alive while it has its Leases and the objects of a probe, for which there is no Lease', async () => {
  const labels = { [SESSION_LABEL]: '0a1b2c3d' };
  const service = { namespace: 'shop', name: 'devloop-probe-ipv4-0a1b2c3d' };
  cluster.put('Service', { metadata: { ...service, labels } });
  cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', {
    metadata: { name: 'devloop-probe-0a1b2c3d-abc', labels },
    webhooks: [{ name: 'probe.devloop.dev', clientConfig: { service } }],
  });
  putLease(42);
  expect(await holder()).toMatchObject({ sessionId: '0a1b2c3d', alive: true });
});

it('is alive if its Lease is created after the Leases were listed', async () => {
  put('Service', 'devloop-probe-ipv4-0a1b2c3d');
  const { marked } = await findMarked(cluster.api, ['own']);
  putLease(42);
  const observer = { api: cluster.api, emit: () => {}, signal: new AbortController().signal };
  const look = () => findMarked(cluster.api, ['shop'], { sessionId: '0a1b2c3d' });
  const traces = { sessionId: '0a1b2c3d', objects: marked };
  expect(await liveHolder(observer, machine, traces, look)).toMatchObject({ alive: true });
});

describe('a Lease of a stranger, with the label of the session', () => {
  const STRANGE = 'devloop.service.other';
  const strange = (targets: object[] = []): void => {
    putLease(42, '0a1b2c3d', { name: STRANGE, namespace: 'strange', targets });
  };

  it('says nothing about whether the session is alive', async () => {
    put('Service', 'hook');
    putLease(43);
    strange();
    expect(await holder()).toBeUndefined();
    cluster.drop('Lease', LEASE, 'shop');
    await expect(holder()).rejects.toMatchObject({ code: 'session.held' });
  });

  it('says nothing about what the session took over', async () => {
    put('Service', 'hook');
    putLease(43);
    strange([{ kind: 'Deployment', namespace: 'shop', name: 'victim' }]);
    const { marked } = await findMarked(cluster.api, []);
    const hook = { kind: 'Service', namespace: 'shop', name: 'hook' };
    expect(takenBy('0a1b2c3d', marked).map(({ ref }) => ref)).toEqual([hook]);
    expect(holdersIn(marked).flatMap(({ targets }) => targets)).toEqual([]);
  });

  it('belongs to the session if a Lease of the session names its object, which is restored already', async () => {
    put('Service', 'hook');
    putLease(43, '0a1b2c3d', { targets: [{ kind: 'Service', namespace: 'strange', name: 'other' }] });
    strange();
    expect(await holder()).toMatchObject({ alive: true });
  });

  it.each<[Kind, string, (object: KubeObject) => void]>([
    [
      'Endpoints',
      'hook',
      ({ metadata }) =>
        Object.assign(metadata.labels!, { 'endpointslice.kubernetes.io/skip-mirror': 'true' }),
    ],
    [
      'EndpointSlice',
      'hook-devloop-0a1b2c3d',
      ({ metadata }) =>
        Object.assign(metadata.labels!, {
          'kubernetes.io/service-name': 'hook',
          'endpointslice.kubernetes.io/managed-by': 'devloop.dev',
        }),
    ],
    [
      'MutatingWebhookConfiguration',
      'hook',
      (object) =>
        Object.assign(object, {
          webhooks: [{ clientConfig: { service: { name: 'hook', namespace: 'shop' } } }],
        }),
    ],
  ])('does not count beside that of the Service if only its %s is left', async (kind, name, edit) => {
    put(kind, name);
    cluster.edit(kind, name, 'shop', edit);
    putLease(43);
    strange();
    expect(await holder()).toBeUndefined();
  });

  it('cannot be told apart if the session has nothing but Leases', async () => {
    putLease(43);
    strange();
    expect(await holder()).toMatchObject({ alive: true });
  });
});

it('is looked for in the namespaces of its objects where Leases cannot be listed everywhere', async () => {
  put('Service', 'hook');
  putLease(42);
  forbidLeases('shop');
  expect(await holder()).toMatchObject({ sessionId: '0a1b2c3d', alive: true });
});

it('is unknown, and never taken for dead, where Leases are forbidden', async () => {
  put('Service', 'hook');
  putLease(42);
  forbidLeases();
  await expect(holder()).rejects.toMatchObject({
    code: 'session.held',
    message: expect.stringMatching(/Service shop\/hook .*\bLease\b/),
    hint: expect.stringContaining('--take-over'),
  });
});

it.each<[Kind, string]>([
  ['Service', 'hook'],
  ['Deployment', 'manager'],
  ['Endpoints', 'hook'],
])('is unknown where a %s is taken over, and no Lease says by whom', async (kind, name) => {
  put(kind, name);
  if (kind === 'Endpoints')
    cluster.edit(kind, name, 'shop', ({ metadata }) => {
      metadata.labels!['endpointslice.kubernetes.io/skip-mirror'] = 'true';
    });
  await expect(holder()).rejects.toMatchObject({ code: 'session.held' });
});

it('is not somebody else who has taken the Lease since', async () => {
  put('Service', 'hook');
  putLease(42, 's2');
  await expect(holder()).rejects.toMatchObject({ code: 'session.held' });
});

it('is dead without a Lease if it ran here and its process is gone', async () => {
  put('Service', 'hook');
  await mkdir(join(machine.stateDirectory, '0a1b2c3d'));
  await writeFile(
    join(machine.stateDirectory, '0a1b2c3d', 'devloop.json'),
    JSON.stringify({ host: 'desk', pid: 2 ** 30, processStart: '7' }),
  );
  expect(await holder()).toBeUndefined();
});

it('does not matter for what doctor creates without a Lease', async () => {
  put('Service', 'devloop-probe-0a1b2c3d');
  put('Pod', 'devloop-relay-0a1b2c3d-0b1c');
  expect(await holder()).toBeUndefined();
});

it('is gone when everything is restored between two looks', async () => {
  put('Service', 'hook');
  putLease(42);
  cluster.hook.before = (verb, what) => {
    if (verb !== 'get' || !what.startsWith('Lease')) return;
    cluster.drop('Lease', 'devloop.service.hook', 'shop');
    cluster.drop('Service', 'hook', 'shop');
  };
  expect(await holder()).toBeUndefined();
});

it('of this machine is ended by a command that ends no other session', () => {
  const service = { kind: 'Service', metadata: { name: 'hook', namespace: 'shop' }, spec: {} };
  const target = partly<Target>({ services: [{ service }], namespace: 'shop' });
  const live = partly<LeaseHolder>({ sessionId: '0a1b2c3d', identity: 'ann', local: true });
  expect(heldBy(live, target).hint).toMatch(/: devloop down --service shop\/hook$/);
});
