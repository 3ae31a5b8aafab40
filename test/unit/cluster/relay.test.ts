import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/cluster/api/errors.ts';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { ContainerStatus, Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { isOurs, relayLabels } from '../../../src/cluster/names.ts';
import {
  assignsUserIds,
  placementOf,
  type RelaySpec,
  relayPod,
  relayPorts,
  relaySecret,
} from '../../../src/cluster/relay/manifest.ts';
import { refusalHint, relayState } from '../../../src/cluster/relay/state.ts';

const spec: RelaySpec = {
  namespace: 'shop',
  image: 'registry.example.com/node:24',
  program: 'require("node:net")',
  config: '{"programKey":"secret"}',
  controlPort: 7000,
  proxyPort: 7001,
  protocol: 'devloop-relay',
  ports: [{ name: 'webhook-server', port: 9443 }, { port: 9444 }],
};
const secret = { metadata: { name: 'devloop-relay-s1', uid: 'u1' } };

describe("the relay's objects", () => {
  it("have the session's label, and the Pod has the labels that a Service selects", () => {
    const pod = relayPod(spec, 's1', { secret, suffix: 'ab12', runAsUser: true });
    expect(pod.metadata.name).toBe('devloop-relay-s1-ab12');
    expect(pod.metadata.labels).toMatchObject({ 'devloop.dev/session': 's1', ...relayLabels('s1') });
    expect(pod.metadata.ownerReferences).toMatchObject([{ kind: 'Secret', ...secret.metadata }]);
    expect(relaySecret(spec, 's1').metadata.labels).toMatchObject({ 'devloop.dev/session': 's1' });
    expect(relaySecret(spec, 's1').metadata.labels).not.toHaveProperty('devloop.dev/relay');
  });

  it('keep the key out of the Pod', () => {
    const { data } = relaySecret(spec, 's1');
    expect(Buffer.from(data!['relay.json']!, 'base64').toString()).toBe(spec.config);
    expect(JSON.stringify(relayPod(spec, 's1', { secret, suffix: 'a', runAsUser: true }))).not.toContain(
      'programKey',
    );
  });

  it('have no time limit of their own: a session in use can last for days', () => {
    const { spec: pod } = relayPod(spec, 's1', { secret, suffix: 'a', runAsUser: true });
    expect(pod).not.toHaveProperty('activeDeadlineSeconds');
  });

  it('have the port names that Services refer to', () => {
    expect(relayPod(spec, 's1', { secret, suffix: 'a', runAsUser: true }).spec).toMatchObject({
      containers: [
        {
          ports: [
            { name: 'webhook-server', containerPort: 9443 },
            { containerPort: 9444, protocol: 'TCP' },
          ],
        },
      ],
    });
  });

  it('name a user except on OpenShift, and open low ports only where they are needed', () => {
    const context = (one: RelaySpec, runAsUser: boolean): object =>
      (relayPod(one, 's1', { secret, suffix: 'a', runAsUser }).spec as { securityContext: object } & object)
        .securityContext;
    expect(context(spec, true)).toMatchObject({ runAsNonRoot: true, runAsUser: 65_532 });
    expect(context(spec, false)).not.toHaveProperty('runAsUser');
    expect(context(spec, true)).not.toHaveProperty('sysctls');
    expect(context({ ...spec, ports: [{ port: 443 }] }, true)).toHaveProperty('sysctls');
    const annotations = { 'openshift.io/sa.scc.uid-range': '1000680000/10000' };
    expect(assignsUserIds({ metadata: { name: 'shop', annotations } })).toBe(true);
    expect(assignsUserIds({ metadata: { name: 'shop' } })).toBe(false);
    expect(assignsUserIds(undefined)).toBe(false);
  });

  it('run where the manager can run', () => {
    const placement = {
      nodeSelector: { pool: 'system' },
      tolerations: [{ key: 'system', operator: 'Exists' }],
      imagePullSecrets: [{ name: 'registry' }],
    };
    const deployment = {
      metadata: { name: 'm' },
      spec: { selector: {}, template: { spec: { containers: [], serviceAccountName: 'm', ...placement } } },
    } as Workload;
    expect(placementOf(deployment)).toEqual(placement);
    expect(
      relayPod({ ...spec, placement }, 's1', { secret, suffix: 'a', runAsUser: true }).spec,
    ).toMatchObject(placement);
    expect(placementOf(undefined)).toEqual({});
  });

  it('are recognized by their names as well as the label', () => {
    const labelled = { metadata: { name: '' } };
    const at = (kind: 'Pod' | 'Secret', name: string) => ({ kind, namespace: 'shop', name });
    expect(isOurs(at('Pod', 'devloop-relay-s1-ab12'), labelled, 's1')).toBe(true);
    expect(isOurs(at('Secret', 'devloop-relay-s1'), labelled, 's1')).toBe(true);
    expect(isOurs(at('Pod', 'manager-1'), labelled, 's1')).toBe(false);
    expect(isOurs(at('Pod', 'devloop-relay-s2-ab12'), labelled, 's1')).toBe(false);
    expect(isOurs(at('Secret', 'devloop-relay-s1-tls'), labelled, 's1')).toBe(false);
  });

  it('have each port of the Services once, by name or number', () => {
    const service = (ports: Service['spec']['ports']): Service =>
      ({ metadata: { name: 'w' }, spec: { ports } }) as Service;
    const named = service([{ port: 443, targetPort: 'webhook-server' }]);
    const numbered = service([{ port: 443, targetPort: 9443 }, { port: 8443 }]);
    expect(
      relayPorts([
        { service: named, ports: [{ port: 443, targetPort: 9443 }] },
        {
          service: numbered,
          ports: [
            { port: 443, targetPort: 9443 },
            { port: 8443, targetPort: 8443 },
          ],
        },
        { service: numbered, ports: [{ port: 443, targetPort: 9443 }] },
      ]),
    ).toEqual([{ name: 'webhook-server', port: 9443 }, { port: 9443 }, { port: 8443 }]);
  });
});

describe("the state of the relay's Pod", () => {
  const pod = (status: Pod['status'], metadata: Partial<Pod['metadata']> = {}): Pod => ({
    metadata: { name: 'p', ...metadata },
    spec: { nodeName: 'n1' },
    status: status!,
  });
  const relay = (state: ContainerStatus['state']): Pod =>
    pod({ phase: 'Pending', containerStatuses: [{ name: 'relay', image: 'i', state: state! }] });
  const condition = (type: string, status: string, rest: object = {}): Pod =>
    pod({ phase: 'Running', conditions: [{ type, status, ...rest }] });
  const unschedulable = condition('PodScheduled', 'False', { message: '0/3 nodes are available' });

  it.each([
    ['no Pod', undefined, { is: 'gone', cause: 'it was deleted' }],
    ['told to end', pod({}, { deletionTimestamp: 't' }), { is: 'gone', cause: 'it is being deleted' }],
    ['ready', condition('Ready', 'True'), { is: 'ready' }],
    ['just made', pod({ phase: 'Pending' }), { is: 'starting' }],
    ['image on its way', relay({ waiting: { reason: 'ContainerCreating' } }), { is: 'starting' }],
    [
      'evicted',
      pod({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' }),
      { is: 'gone', cause: 'Evicted: low on memory' },
    ],
    [
      'a lost node',
      condition('Ready', 'False', { reason: 'NodeNotReady' }),
      { is: 'gone', cause: expect.stringMatching(/node n1\b/) },
    ],
    ['ended in peace', relay({ terminated: { exitCode: 0, reason: 'Completed' } }), { is: 'gone' }],
    [
      'out of memory',
      relay({ terminated: { exitCode: 137, reason: 'OOMKilled' } }),
      { is: 'failed', cause: expect.stringMatching(/\b137\b.*OOMKilled/) },
    ],
    [
      'crashed',
      relay({ terminated: { exitCode: 1, reason: 'Error', message: 'a\n\nb\n' } }),
      { is: 'failed', cause: expect.stringMatching(/code 1\b.*:\n {2}a\n {2}b$/) },
    ],
    [
      'back-off',
      relay({ waiting: { reason: 'ImagePullBackOff', message: 'not found' } }),
      { is: 'failed', cause: expect.stringContaining('ImagePullBackOff: not found') },
    ],
    [
      'a container that cannot be made',
      relay({ waiting: { reason: 'CreateContainerConfigError', message: 'runs as root' } }),
      { is: 'failed', cause: 'CreateContainerConfigError: runs as root' },
    ],
  ])('%s', (_name, now, state) => {
    expect(relayState(now, 0)).toMatchObject(state);
  });

  it('is starting for a while without a node, then failed', () => {
    expect(relayState(unschedulable, 9_999)).toMatchObject({ is: 'starting' });
    expect(relayState(unschedulable, 10_000)).toMatchObject({
      is: 'failed',
      cause: expect.stringContaining('0/3 nodes are available'),
    });
  });

  it('depends on its own container alone, since service meshes add theirs', () => {
    const sidecar = { name: 'proxy', image: 'i', state: { terminated: { exitCode: 1 } } };
    expect(relayState(pod({ phase: 'Pending', containerStatuses: [sidecar] }), 0)).toMatchObject({
      is: 'starting',
    });
  });

  it('comes with a hint for each kind of refusal', () => {
    const hint = (message: string): string =>
      refusalHint(new ApiError(message, 403, 'Forbidden'), { kind: 'Pod', namespace: 'shop', name: 'p' });
    expect(hint('exceeded quota: q')).toContain('resourcequota');
    expect(hint('failed quota: q: must specify limits.cpu')).toContain('resourcequota');
    expect(hint('maximum memory usage per Container is 1Mi')).toContain('limitrange');
    expect(hint('violates PodSecurity "restricted:latest"')).toContain('--show-labels');
    expect(hint('in namespace shop because it is being terminated')).toContain('is being deleted');
    expect(hint('admission webhook "x" denied the request')).toContain('exception');
    expect(hint('pods is forbidden: User "u" cannot create')).toBe('kubectl auth can-i create pods -n shop');
  });
});
