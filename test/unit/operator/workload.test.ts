import { describe, expect, it, test } from 'vitest';
import type { Container, Volume } from '../../../src/cluster/api/workloads.ts';
import { expandArguments, readPodEnvironment } from '../../../src/operator/environment.ts';
import {
  certificateCandidates,
  certificateMounts,
  mountsOf,
  unmountedCandidates,
} from '../../../src/operator/mounts.ts';
import type { Target, TargetManager } from '../../../src/operator/target.ts';
import { readVolumes } from '../../../src/operator/volumes.ts';
import { isSelectedBy, managerContainer } from '../../../src/operator/workload.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function manager(container: Partial<Container>, volumes: Volume[] = []): TargetManager {
  const full = { name: 'manager', ...container };
  const template = {
    metadata: { labels: { app: 'shop' } },
    spec: { containers: [full], volumes, serviceAccountName: 'shop-sa' },
  };
  return {
    ref: { kind: 'Deployment', namespace: 'shop', name: 'shop' },
    object: { metadata: { name: 'shop', namespace: 'shop' }, spec: { selector: {}, template } },
    container: full,
    source: '',
  };
}

const target = (found: TargetManager): Target => ({
  services: [],
  namespace: 'shop',
  manager: found,
});
const secret = (name: string, secretName: string): Volume => ({ name, secret: { secretName } });

describe('the likeliest Secret for a webhook', () => {
  const volumes = [secret('metrics', 'metrics-server-cert'), secret('webhook', 'webhook-server-cert')];
  const volumeMounts = [
    { name: 'metrics', mountPath: '/tmp/k8s-metrics-server/metrics-certs' },
    { name: 'webhook', mountPath: '/certs/' },
  ];
  const first = (args: string[], mounts = volumeMounts): string | undefined => {
    const { object, container } = manager({ args, volumeMounts: mounts }, volumes);
    return certificateMounts(mountsOf(object, container), container)[0]?.name;
  };

  it('is the one mounted where the arguments say, whatever the name of the flag', () => {
    for (const flag of [
      '--webhook-cert-path',
      '--webhook-cert-dir',
      '--cert-dir',
      '-cert-dir',
      '--certs-dir',
      '--certificate-path',
    ]) {
      expect(first([`${flag}=/certs`])).toBe('webhook-server-cert');
      expect(first([flag, '/certs'])).toBe('webhook-server-cert');
    }
  });

  it('is not the one for metrics, whose flag comes first in the manifests of kubebuilder', () => {
    const swapped = [
      { name: 'metrics', mountPath: '/metrics-certs' },
      { name: 'webhook', mountPath: '/pki' },
    ];
    expect(first(['--metrics-cert-path=/metrics-certs', '--webhook-cert-path=/pki'], swapped)).toBe(
      'webhook-server-cert',
    );
    expect(first(['--metrics-cert-path=/metrics-certs'], swapped)).toBe('webhook-server-cert');
  });

  it('is the one at the default directory of controller-runtime if no argument names one', () => {
    const named = [
      { name: 'metrics', mountPath: '/tmp/k8s-webhook-server/serving-certs' },
      { name: 'webhook', mountPath: '/x' },
    ];
    expect(first([], named)).toBe('metrics-server-cert');
  });
});

describe('mounted files', () => {
  it('have the names and the directory that the container sees: items, projected volumes, subPath', async () => {
    const cluster = fakeCluster();
    cluster.put('Secret', {
      metadata: { name: 'olm', namespace: 'shop' },
      data: { 'tls.crt': 'QQ==', 'tls.key': 'Qg==', olmCAKey: 'Qw==' },
    });
    const volumes: Volume[] = [
      {
        name: 'items',
        secret: {
          secretName: 'olm',
          items: [
            { key: 'tls.crt', path: 'apiserver.crt' },
            { key: 'tls.key', path: 'apiserver.key' },
          ],
        },
      },
      {
        name: 'projected',
        projected: { sources: [{ secret: { name: 'olm' } }, { configMap: { name: 'ca' } }, {}] },
      },
      { name: 'empty' },
    ];
    const volumeMounts = [
      { name: 'items', mountPath: '/apiserver.local.config/certificates' },
      { name: 'projected', mountPath: '/projected' },
      { name: 'items', mountPath: '/single/tls.crt', subPath: 'apiserver.crt' },
      { name: 'empty', mountPath: '/tmp' },
      { name: 'undeclared', mountPath: '/x' },
    ];
    const found = await certificateCandidates(cluster.api, target(manager({ volumeMounts }, volumes)));
    const directories = ['/apiserver.local.config/certificates', '/projected', '/single'];
    const certificate = { 'tls.crt': 'QQ==', 'apiserver.crt': 'QQ==' };
    const keys = { 'tls.key': 'Qg==', 'apiserver.key': 'Qg==', olmCAKey: 'Qw==' };
    expect(found).toEqual([
      { namespace: 'shop', name: 'olm', files: { ...certificate, ...keys }, directories, exists: true },
    ]);
  });

  it('are none where no file has the name of the subPath', async () => {
    const pod = {
      manager: { object: manager({}).object, container: { name: 'manager' } },
      namespace: 'shop',
      podName: 'p',
    };
    const volume: Volume = { name: 'none', emptyDir: {} };
    const [found] = await readVolumes(fakeCluster().api, pod, [
      { path: '/x', subPath: 'constructor', volume },
    ]);
    expect(found).toMatchObject({ path: '/x', isFile: false, files: {}, executable: [], lacking: [] });
  });

  it('of a Secret that does not exist yet are empty, and marked as such', async () => {
    const deployment = manager({ volumeMounts: [{ name: 'c', mountPath: '/c' }] }, [secret('c', 'later')]);
    expect(await certificateCandidates(fakeCluster().api, target(deployment))).toEqual([
      { namespace: 'shop', name: 'later', files: {}, directories: ['/c'], exists: false },
    ]);
  });

  it('are found among the Secrets with PEM if no volume mounts them', async () => {
    const cluster = fakeCluster();
    cluster.put('Secret', {
      metadata: { name: 'pem', namespace: 'shop' },
      data: { 'tls.crt': base64('-----BEGIN CERTIFICATE-----\n') },
    });
    cluster.put('Secret', {
      metadata: { name: 'password', namespace: 'shop' },
      data: { password: base64('x') },
    });
    expect((await unmountedCandidates(cluster.api, 'shop')).map((one) => one.name)).toEqual(['pem']);
  });
});

describe('the environment of the Pod', () => {
  it('is the one that the kubelet sets: envFrom first, variables expanded, the contents of Secrets not', async () => {
    const cluster = fakeCluster();
    cluster.put('ConfigMap', {
      metadata: { name: 'settings', namespace: 'shop' },
      data: { LEVEL: 'info', REGION: 'eu' },
    });
    cluster.put('Secret', {
      metadata: { name: 'db', namespace: 'shop' },
      data: { password: base64('pa$$word $(LEVEL)') },
    });
    const env = await readPodEnvironment(
      cluster.api,
      manager({
        envFrom: [
          { prefix: 'S_', configMapRef: { name: 'settings' } },
          { secretRef: { name: 'absent', optional: true } },
          { configMapRef: { name: 'gone' } },
        ],
        env: [
          { name: 'PLAIN' },
          { name: 'URL', value: 'http://$(S_REGION)/$(UNKNOWN)/$$(S_REGION)' },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } },
          { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
          { name: 'APP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: 'SERVICE_ACCOUNT_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.serviceAccountName' } } },
          {
            name: 'OPTIONAL',
            valueFrom: { configMapKeyRef: { name: 'settings', key: 'constructor', optional: true } },
          },
          { name: 'MISSING', valueFrom: { secretKeyRef: { name: 'db', key: 'toString' } } },
          { name: 'NO_LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['valueOf']" } } },
          { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
          { name: 'REQUEST', valueFrom: { resourceFieldRef: { resource: 'requests.memory' } } },
          { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
          { name: 'RESOURCE', value: 'uid=$(POD_UID)' },
        ],
      }),
      { podName: 'shop-devloop-s1', podUid: 'u1' },
    );
    expect(env.values).toEqual({
      S_LEVEL: 'info',
      S_REGION: 'eu',
      PLAIN: '',
      URL: 'http://eu/$(UNKNOWN)/$(S_REGION)',
      PASSWORD: 'pa$$word $(LEVEL)',
      POD_NAMESPACE: 'shop',
      APP: 'shop',
      NO_LABEL: '',
      REQUEST: '0',
      SERVICE_ACCOUNT_NAME: 'shop-sa',
      POD_NAME: 'shop-devloop-s1',
      POD_UID: 'u1',
      RESOURCE: 'uid=u1',
    });
    expect(env.unknown.map((one) => one.name)).toEqual(['*', 'MISSING', 'LIMIT']);
    expect(cluster.calls.filter((call) => call === 'get ConfigMap shop/settings')).toHaveLength(1);
  });

  it('has some node of the cluster as its own, always the same one', async () => {
    const cluster = fakeCluster();
    const env = [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }];
    const read = () => readPodEnvironment(cluster.api, manager({ env }), { podName: 'shop-devloop-s1' });
    expect(await read()).toMatchObject({ values: {}, unknown: [{ name: 'NODE' }], nodes: [] });
    for (const name of ['b', 'a']) cluster.put('Node', { metadata: { name } });
    expect(await read()).toMatchObject({ values: { NODE: 'a' }, unknown: [], nodes: ['NODE'] });
  });

  it('expands nothing to more than a program can get', async () => {
    const doubling = Array.from({ length: 60 }, (_, at) => ({
      name: `V${at + 1}`,
      value: `$(V${at})$(V${at})`,
    }));
    const container = manager({ env: [{ name: 'V0', value: 'x' }, ...doubling] });
    const { values } = await readPodEnvironment(fakeCluster().api, container, { podName: 'p' });
    expect(values.V10).toHaveLength(2 ** 10);
    expect(Math.max(...Object.values(values).map(({ length }) => length))).toBeLessThanOrEqual(2 ** 17);
    const [argument] = expandArguments(['$(V10)'.repeat(1_000)], { values, secrets: new Set() });
    expect(argument!.value).toBe('$(V10)'.repeat(1_000));
  });

  it('expands arguments in the same way', () => {
    const environment = { values: { NS: 'shop' }, secrets: new Set<string>() };
    const expanded = expandArguments(['--ns=$(NS)', '$$(NS)', '$(constructor)'], environment);
    expect(expanded.map(({ value }) => value)).toEqual(['--ns=shop', '$(NS)', '$(constructor)']);
    expect(expanded.map(({ shown }) => shown)).toEqual(['--ns=shop', '$(NS)', '$(constructor)']);
  });

  it('shows no value of a Secret in an argument, not even inside another variable', async () => {
    const cluster = fakeCluster();
    cluster.put('Secret', {
      metadata: { name: 'db', namespace: 'shop' },
      data: { password: base64('hunter2'), user: base64('ann') },
    });
    const environment = await readPodEnvironment(
      cluster.api,
      manager({
        envFrom: [{ prefix: 'S_', secretRef: { name: 'db' } }],
        env: [
          { name: 'HOST', value: 'db.shop' },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } },
          { name: 'URL', value: 'pg://$(S_user):$(PASSWORD)@$(HOST)' },
          { name: 'S_user', value: 'overridden' },
        ],
      }),
      { podName: '' },
    );
    expect(expandArguments(['--u=$(URL)', '--h=$(HOST)', '$(S_password)', '$(S_user)'], environment)).toEqual(
      [
        { value: '--u=pg://ann:hunter2@db.shop', shown: '--u=$(URL)' },
        { value: '--h=db.shop', shown: '--h=db.shop' },
        { value: 'hunter2', shown: '$(S_password)' },
        { value: 'overridden', shown: 'overridden' },
      ],
    );
  });
});

test('a Service selects a Deployment by all its labels, and none by an empty selector', () => {
  const { object } = manager({});
  expect(isSelectedBy(object, { app: 'shop' })).toBe(true);
  expect(isSelectedBy(object, { app: 'shop', tier: 'x' })).toBe(false);
  expect(isSelectedBy(object, {})).toBe(false);
});

test('labels that only Pods have do not keep a Service from selecting their Deployment', () => {
  const { object } = manager({});
  const ofPod = { 'pod-template-hash': '5d8f9c7b6d' };
  expect(isSelectedBy(object, { app: 'shop', ...ofPod })).toBe(true);
  expect(isSelectedBy(object, { app: 'other', ...ofPod })).toBe(false);
  expect(isSelectedBy(object, ofPod)).toBe(false);
});

test.each<[string, Container[], string]>([
  ['declares the port', [{ name: 'manager' }, { name: 'hooks', ports: [{ containerPort: 9443 }] }], 'hooks'],
  ['is the default', [{ name: 'manager' }, { name: 'default' }], 'default'],
  ['has a usual name', [{ name: 'other' }, { name: 'manager' }], 'manager'],
  ['is no sidecar by its name', [{ name: 'kube-rbac-proxy' }, { name: 'shop' }], 'shop'],
  [
    'is no sidecar by its image',
    [{ name: 'a', image: 'r.example.com:5000/oauth2-proxy:v1@sha256:0f' }, { name: 'b' }],
    'b',
  ],
  ['is the first', [{ name: 'shop' }, { name: 'more' }], 'shop'],
  ['is the only one', [{ name: 'shop-proxy' }], 'shop-proxy'],
])('the manager is the container that %s', (_, containers, name) => {
  const { object } = manager({});
  const { template } = object.spec;
  template.spec.containers = containers;
  template.metadata = { annotations: { 'kubectl.kubernetes.io/default-container': 'default' } };
  expect(managerContainer(object, [9443]).name).toBe(name);
});
