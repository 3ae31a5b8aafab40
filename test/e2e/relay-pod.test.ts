import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Duplex, Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { EndpointSlice, Endpoints, Service } from '../../src/cluster/api/objects.ts';
import { portForward } from '../../src/cluster/api/port-forward.ts';
import type { Pod } from '../../src/cluster/api/workloads.ts';
import { RELAY_IMAGE, type RelaySpec } from '../../src/cluster/relay/manifest.ts';
import { type StartedRelay, startRelay } from '../../src/cluster/relay/pod.ts';
import { keepRelay } from '../../src/cluster/relay/watch.ts';
import { findMarked } from '../../src/cluster/takeover/find-marked.ts';
import { pointToPods } from '../../src/cluster/takeover/service.ts';
import { slicesOf } from '../../src/cluster/takeover/slices.ts';
import type { Work } from '../../src/cluster/work.ts';
import type { DevloopEvent } from '../../src/report/events.ts';
import { objectText } from '../../src/report/text.ts';
import { restore } from '../../src/session/end/restore.ts';
import { PAUSE_IMAGE } from '../cluster/build.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { loadRelayImage } from '../support/relay-image.ts';
import { snapshot } from '../support/snapshot.ts';

const CONTROL = 7000;
const [FLOOD, SINK, RELEASE, COUNTS, RESETS] = [7001, 7002, 7003, 7004, 7005];
const MB = 1 << 20;
/** The strictest of Kubernetes' Pod Security levels. */
const STRICT = 'strict';
const signal = new AbortController().signal;

let cluster: TestCluster;
let api: ClusterApi;
let program: string;
let events: DevloopEvent[] = [];
const emit = (event: DevloopEvent): void => void events.push(event);

beforeAll(async () => {
  program = await readFile(join(import.meta.dirname, '../fixtures/relay/echo.cjs'), 'utf8');
  cluster = await startCluster({ log: (line) => console.error(line), certManager: false });
  api = await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/'));
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: STRICT, labels: level('restricted') },
  };
  await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(namespace) });
  await loadRelayImage(cluster);
});

afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

afterEach(() => {
  events = [];
});

function level(name: string): Record<string, string> {
  return { 'pod-security.kubernetes.io/enforce': name, 'pod-security.kubernetes.io/warn': name };
}

function spec(rest: Partial<RelaySpec> & { fail?: boolean } = {}): RelaySpec {
  const { fail = false, ...other } = rest;
  const ports = other.ports ?? [{ name: 'webhook-server', port: 9443 }];
  const config = JSON.stringify({ controlPort: CONTROL, ports: ports.map(({ port }) => port), fail });
  return {
    namespace: STRICT,
    image: RELAY_IMAGE,
    program,
    config,
    controlPort: CONTROL,
    proxyPort: CONTROL + 1,
    protocol: 'devloop-relay',
    ports,
    ...other,
  };
}

const work = (sessionId: string, by = api): Work => ({ api: by, sessionId, emit, signal });
const start = (sessionId: string, one: RelaySpec): Promise<StartedRelay> => startRelay(work(sessionId), one);
const podOf = (relay: { namespace: string; pod: string }): Promise<Pod | undefined> =>
  api.get<Pod>({ kind: 'Pod', namespace: relay.namespace, name: relay.pod });

async function namespace(name: string, labels: Record<string, string> = {}): Promise<string> {
  await api.create({ kind: 'Namespace', name }, { metadata: { name, labels } });
  return name;
}

async function apply(object: object): Promise<void> {
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
}

describe('a port-forward', () => {
  let relay: StartedRelay;
  const dial = (port: number): Promise<Duplex> =>
    portForward(api, { namespace: STRICT, pod: relay.pod, port }, signal);
  const counts = async (): Promise<{ flooded: number; sunk: number }> =>
    JSON.parse(Buffer.concat(await (await dial(COUNTS)).toArray()).toString());

  beforeAll(async () => {
    relay = await start('forward', spec());
  });

  it('carries 20 MB there and back as they were', async () => {
    const stream = await dial(CONTROL);
    expect(await echoed(stream, 20 * MB)).toBe(true);
    stream.destroy();
  });

  it('runs 16 times at once, each with its own bytes', async () => {
    const streams = await Promise.all(Array.from({ length: 16 }, () => dial(CONTROL)));
    expect(await Promise.all(streams.map((stream) => echoed(stream, 1 * MB)))).not.toContain(false);
    for (const stream of streams) stream.destroy();
  });

  it('lets a server wait that sends faster than it is read', async () => {
    const stream = await dial(FLOOD);
    let before = -1;
    await eventually(async () => {
      const { flooded } = await counts();
      const stands = flooded === before;
      before = flooded;
      expect(stands).toBe(true);
    });
    expect(before).toBeLessThan(64 * MB);
    expect(stream.readableLength).toBeLessThan(1 * MB);
    let read = 0;
    for await (const chunk of stream) {
      read += (chunk as Buffer).length;
      if (read > before + 20 * MB) break;
    }
    expect(read).toBeGreaterThan(before);
  });

  it('lets a writer wait whose server does not read, and loses nothing', async () => {
    const stream = await dial(SINK);
    const total = 96 * MB;
    let written = 0;
    const writing = (async () => {
      for (; written < total; written += MB)
        if (!stream.write(Buffer.alloc(MB, 'w'))) await once(stream, 'drain');
    })();
    let before = -1;
    await eventually(async () => {
      await counts();
      const stands = written === before;
      before = written;
      expect(stands).toBe(true);
    });
    expect(before).toBeLessThan(64 * MB);
    await (await dial(RELEASE)).toArray();
    await writing;
    await eventually(async () => expect((await counts()).sunk).toBe(total));
    stream.destroy();
  });

  it('ends when the server ends', async () => {
    const stream = await dial(COUNTS);
    const chunks = await stream.toArray();
    expect(JSON.parse(Buffer.concat(chunks).toString())).toHaveProperty('sunk');
    expect(stream.destroyed).toBe(true);
  });

  it('breaks when the server resets it', async () => {
    const stream = await dial(RESETS);
    stream.write('x');
    await expect(stream.toArray()).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringContaining('connection reset by peer'),
    });
  });

  it('says that nothing listens, with the words of the kubelet', async () => {
    // The error may arrive together with the frames that begin the stream; then the dial itself fails.
    const reading = dial(9).then((stream) => stream.toArray());
    await expect(reading).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringMatching(/port 9 of Pod strict\/devloop-relay-forward-.*refused/s),
    });
  });

  it('says that there is no such Pod', async () => {
    await expect(portForward(api, { namespace: STRICT, pod: 'none', port: 1 }, signal)).rejects.toMatchObject(
      {
        code: 'relay.failed',
        message: expect.stringContaining('pods "none" not found'),
      },
    );
  });

  it('says which permission is missing', async () => {
    const file = await cluster.kubeconfigFor('viewer');
    await cluster.kubectl([
      'create',
      'rolebinding',
      'viewer',
      '-n',
      STRICT,
      '--clusterrole=view',
      '--user=viewer',
    ]);
    await using viewer = await connect(await loadKubeconfig({ kubeconfig: file }, {}, '/'));
    await expect(
      portForward(viewer, { namespace: STRICT, pod: relay.pod, port: CONTROL }, signal),
    ).rejects.toMatchObject({
      code: 'cluster.forbidden',
      message: expect.stringMatching(/pods\/portforward.*cannot get resource "pods\/portforward"/s),
      hint: expect.stringContaining('auth can-i create pods/portforward -n strict'),
    });
  });

  it('is given up when its signal says so, and only while it opens', async () => {
    const ending = new AbortController();
    const stream = await portForward(
      api,
      { namespace: STRICT, pod: relay.pod, port: CONTROL },
      ending.signal,
    );
    ending.abort();
    expect(await echoed(stream, 1000)).toBe(true);
    await expect(
      portForward(api, { namespace: STRICT, pod: relay.pod, port: CONTROL }, ending.signal),
    ).rejects.toThrow('aborted');
    stream.destroy();
  });

  // The last test here, since the others share this Pod.
  it('ends when the Pod is deleted', async () => {
    const stream = await dial(CONTROL);
    expect(await echoed(stream, 1000)).toBe(true);
    await api.remove({ kind: 'Pod', namespace: STRICT, name: relay.pod });
    await stream.toArray();
    expect(stream.destroyed).toBe(true);
  });
});

describe('the relay Pod', () => {
  it('runs where nothing but restricted Pods may, without the rights of an account', async () => {
    const relay = await start('plain', spec());
    const pod = await api.call<{ spec: { containers: { volumeMounts: { mountPath: string }[] }[] } }>(
      'GET',
      `/api/v1/namespaces/${STRICT}/pods/${relay.pod}`,
    );
    expect(pod.spec.containers[0]!.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/relay']);
    expect(events.filter(({ type }) => type === 'change')).toHaveLength(2);
    await restore(work('plain'), [], { managerReadySeconds: 0 });
    expect((await findMarked(api, [STRICT], { sessionId: 'plain' })).marked).toEqual([]);
  });

  it.each<{
    name: string;
    session: string;
    of: Partial<RelaySpec> & { fail?: boolean };
    says: RegExp;
    hint: RegExp;
  }>([
    {
      name: 'its image cannot be pulled',
      session: 'no-image',
      of: { image: '127.0.0.1:1/node:24' },
      says: /Pod strict\/devloop-relay-no-image-\w+ does not run: its image cannot be used: .*(refused|127\.0\.0\.1)/s,
      hint: /--relay-image/,
    },
    {
      name: 'its image has a name that is none',
      session: 'bad-name',
      of: { image: 'docker.io/Library/Node' },
      says: /InvalidImageName/,
      hint: /--relay-image/,
    },
    {
      name: 'there is no Node in its image',
      session: 'no-node',
      of: { image: PAUSE_IMAGE },
      says: /its container does not start: .*"node".* not found/s,
      hint: /--relay-image/,
    },
    {
      name: 'its program fails',
      session: 'crash',
      of: { fail: true },
      says: /its program exited with code 3; its last lines:\n {2}first line\n {2}the relay cannot work like this/,
      hint: /kubectl -n strict describe pod devloop-relay-crash-/,
    },
    {
      name: 'no node can run it',
      session: 'no-node-fits',
      of: { placement: { nodeSelector: { 'kubernetes.io/os': 'plan9' } } },
      says: /no node can run it: 0\/1 nodes are available: 1 node\(s\) didn't match/,
      hint: /adds nodes/,
    },
  ])('says so when $name, and leaves nothing', async ({ session, of, says, hint }) => {
    await expect(start(session, spec(of))).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringMatching(says),
      hint: expect.stringMatching(hint),
    });
    expect((await findMarked(api, [STRICT], { sessionId: session })).marked).toEqual([]);
  });

  it('says so when a quota forbids it', async () => {
    const tight = await namespace('tight');
    await apply({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'none', namespace: tight },
      spec: { hard: { pods: '0' } },
    });
    await eventually(async () => {
      await expect(start('quota', spec({ namespace: tight }))).rejects.toMatchObject({
        code: 'relay.failed',
        message: expect.stringContaining('exceeded quota: none, requested: pods=1'),
        hint: expect.stringContaining('kubectl -n tight get resourcequota'),
      });
    });
    expect((await findMarked(api, [tight], { sessionId: 'quota' })).marked).toEqual([]);
  });

  it('says so when the limits of the namespace are lower', async () => {
    const small = await namespace('small');
    await apply({
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'low', namespace: small },
      spec: { limits: [{ type: 'Container', max: { memory: '16Mi' } }] },
    });
    await expect(start('limits', spec({ namespace: small }))).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringContaining('maximum memory usage per Container is 16Mi'),
      hint: expect.stringContaining('limitrange'),
    });
  });

  it('says so when Pod Security forbids it', async () => {
    const restricted = await namespace('restricted', level('restricted'));
    const low = spec({ namespace: restricted, placement: { hostNetwork: true } as object });
    await expect(start('security', low)).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringContaining('violates PodSecurity "restricted:latest": host namespaces'),
      hint: expect.stringContaining('kubectl get namespace restricted --show-labels'),
    });
    expect((await findMarked(api, [restricted], { sessionId: 'security' })).marked).toEqual([]);
  });

  it('says so when a policy of the cluster or a webhook refuses it', async () => {
    const guarded = await namespace('guarded', { guarded: 'yes' });
    await apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'guard' },
      webhooks: [
        {
          name: 'guard.example.com',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Fail',
          namespaceSelector: { matchLabels: { guarded: 'yes' } },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
          clientConfig: { service: { name: 'absent', namespace: guarded } },
        },
      ],
    });
    await eventually(async () => {
      await expect(start('webhook', spec({ namespace: guarded }))).rejects.toMatchObject({
        code: 'relay.failed',
        message: expect.stringContaining('failed calling webhook "guard.example.com"'),
        hint: expect.stringContaining('label devloop.dev/relay'),
      });
    });
    await cluster.kubectl(['delete', 'validatingwebhookconfiguration', 'guard']);
    expect((await findMarked(api, [guarded], { sessionId: 'webhook' })).marked).toEqual([]);
  });

  it('says so when the account may not create it', async () => {
    await using viewer = await connect(
      await loadKubeconfig({ kubeconfig: await cluster.kubeconfigFor('nobody') }, {}, '/'),
    );
    await expect(startRelay(work('rights', viewer), spec())).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringContaining('cannot create resource "secrets"'),
      hint: 'kubectl auth can-i create secrets -n strict',
    });
  });

  it('does not outlive its Secret: a start that was put back meanwhile fails at once and leaves nothing', async () => {
    const overtaken: ClusterApi = {
      ...api,
      async create(ref, object, options) {
        if (ref.kind === 'Pod') await restore(work('late'), [STRICT], { managerReadySeconds: 0 });
        return await api.create(ref, object, options);
      },
    };
    await expect(startRelay(work('late', overtaken), spec())).rejects.toMatchObject({
      code: 'relay.failed',
    });
    expect((await findMarked(api, [STRICT], { sessionId: 'late' })).marked).toEqual([]);
  });

  it('goes with its Secret also where the session was killed meanwhile', async () => {
    const killed: ClusterApi = {
      ...api,
      async create(ref, object, options) {
        if (ref.kind !== 'Pod') return await api.create(ref, object, options);
        await restore(work('killed'), [STRICT], { managerReadySeconds: 0 });
        await api.create(ref, object, options);
        throw new Error('killed');
      },
      remove: () => Promise.reject(new Error('killed')),
    };
    await expect(startRelay(work('killed', killed), spec())).rejects.toThrow('killed');
    await eventually(async () =>
      expect((await findMarked(api, [STRICT], { sessionId: 'killed' })).marked).toEqual([]),
    );
  });

  it('is replaced by one with the same labels when it is deleted, and not when its session was put back', async () => {
    let looks = 0;
    const watched: ClusterApi = {
      ...api,
      get(ref, options) {
        if (ref.kind === 'Secret') looks++;
        return api.get(ref, options);
      },
    };
    await using relay = await keepRelay(STRICT).apply(work('kept', watched), spec());
    const first = relay.pod;
    await cluster.kubectl(['delete', 'pod', first, '-n', STRICT, '--wait=false']);
    await eventually(async () => expect(relay.pod).not.toBe(first));
    expect((await podOf(relay))?.metadata.labels).toMatchObject(relay.labels);
    const stream = await relay.dial(signal);
    expect(await echoed(stream, 1000)).toBe(true);
    stream.destroy();
    expect(events).toContainEqual(
      expect.objectContaining({
        code: 'relay.replaced',
        values: {
          pod: expect.objectContaining({ namespace: 'strict', name: first }),
          cause: expect.stringContaining('deleted'),
          by: expect.objectContaining({ namespace: 'strict', name: relay.pod }),
        },
      }),
    );
    const second = relay.pod;
    looks = 0;
    await restore(work('kept'), [], { managerReadySeconds: 0 });
    await eventually(async () => expect(looks).toBeGreaterThan(0));
    await relay[Symbol.asyncDispose]();
    expect(relay.pod).toBe(second);
    const made = events.filter((event) => event.type === 'change' && event.action === 'create');
    expect(made.map((event) => event.type === 'change' && objectText(event.object))).toEqual([
      'Secret strict/devloop-relay-kept',
      `Pod strict/${first}`,
      `Pod strict/${second}`,
    ]);
    expect((await findMarked(api, [STRICT], { sessionId: 'kept' })).marked).toEqual([]);
    await eventually(async () => expect(await podOf(relay)).toBeUndefined());
  });
});

describe('a Service whose selector is swapped', () => {
  it('leads to the relay, and back as it was', async () => {
    const space = await namespace('shop');
    await cluster.kubectl(['apply', '-f', '-'], { input: operator(space) });
    await cluster.kubectl(['-n', space, 'rollout', 'status', 'deployment/manager', '--timeout=60s']);
    const ref = { kind: 'Service', namespace: space, name: 'webhook-service' } as const;
    const service = (await api.get<Service>(ref))!;
    await eventually(async () => expect(await targets(service)).toMatchObject([{ port: 9443 }]));
    const before = await snapshot(cluster, space);
    const relay = await start('swap', spec({ namespace: space, ports: [{ name: 'webhook', port: 8443 }] }));

    await pointToPods(service, relay.labels).apply(work('swap'));
    await eventually(async () => {
      expect(await targets(service)).toEqual([{ pod: relay.pod, port: 8443 }]);
      const endpoints = await api.get<Endpoints>({ ...ref, kind: 'Endpoints' });
      expect(endpoints?.subsets).toMatchObject([{ ports: [{ port: 8443 }] }]);
    });
    const { marked } = await findMarked(api, [], { sessionId: 'swap' });
    expect(marked.map((one) => `${one.ref.kind} ${one.ref.name}`)).toEqual([
      'Service webhook-service',
      `Pod ${relay.pod}`,
      'Secret devloop-relay-swap',
    ]);

    await restore(work('swap'), [], {
      managerReadySeconds: 10,
      afterServices: async () => {
        // A client that still uses the old route finds the relay until the new route was seen to answer.
        expect(await podOf(relay)).toBeDefined();
        expect((await targets(service)).map(({ pod }) => pod)).not.toContain(relay.pod);
      },
    });
    await eventually(async () => {
      expect(await podOf(relay)).toBeUndefined();
      expect(await snapshot(cluster, space)).toEqual(before);
    });
  });

  async function targets(service: Service): Promise<{ pod: string | undefined; port: number | undefined }[]> {
    const slices: EndpointSlice[] = await slicesOf(api, service);
    return slices.flatMap(({ endpoints, ports }) =>
      (endpoints ?? []).map(({ targetRef }) => ({ pod: targetRef?.name, port: ports?.[0]?.port })),
    );
  }
});

function operator(namespace: string): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: ${namespace}}
spec:
  selector: {matchLabels: {app: manager}}
  template:
    metadata: {labels: {app: manager}}
    spec:
      dnsPolicy: Default
      containers: [{name: manager, image: ${PAUSE_IMAGE}, ports: [{name: webhook, containerPort: 9443}]}]
---
apiVersion: v1
kind: Service
metadata: {name: webhook-service, namespace: ${namespace}}
spec:
  selector: {app: manager}
  ports: [{port: 443, targetPort: webhook}]
`;
}

/** Whether so many random bytes come back as they were sent. */
async function echoed(stream: Duplex, bytes: number): Promise<boolean> {
  const sent = createHash('sha256');
  const received = createHash('sha256');
  let left = bytes;
  Readable.from(
    (function* () {
      for (let sending = bytes; sending > 0; sending -= 100_000) {
        const chunk = randomBytes(Math.min(sending, 100_000));
        sent.update(chunk);
        yield chunk;
      }
    })(),
  ).pipe(stream, { end: false });
  return await new Promise((resolve, reject) => {
    stream.on('error', reject).on('end', () => reject(new Error('ended early')));
    stream.on('data', function take(chunk: Buffer) {
      received.update(chunk);
      left -= chunk.length;
      if (left > 0) return;
      stream.off('data', take);
      stream.removeAllListeners('error').removeAllListeners('end');
      resolve(left === 0 && sent.digest('hex') === received.digest('hex'));
    });
  });
}
