import { describe, expect, it } from 'vitest';
import type { Container, Deployment, Service, Volume } from '../../../src/cluster/api/objects.ts';
import { isControllerSlice, ourEndpoints, ourSlice } from '../../../src/cluster/takeover/endpoints.ts';
import { assertTakeable } from '../../../src/cluster/takeover/service.ts';
import { expandArguments, readPodEnvironment } from '../../../src/operator/environment.ts';
import { certificateCandidates, namedMounts, unmountedCandidates } from '../../../src/operator/mounts.ts';
import type { Target } from '../../../src/operator/target.ts';
import { certificateMounts, isSelectedBy, mountsOf } from '../../../src/operator/workload.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function manager(
  container: Partial<Container>,
  volumes: Volume[] = [],
): { object: Deployment; container: Container; source: string } {
  const full = { name: 'manager', ...container };
  const template = {
    metadata: { labels: { app: 'shop' } },
    spec: { containers: [full], volumes, serviceAccountName: 'shop-sa' },
  };
  return {
    object: { metadata: { name: 'shop', namespace: 'shop' }, spec: { selector: {}, template } },
    container: full,
    source: '',
  };
}

const target = (deployment: ReturnType<typeof manager>): Target => ({
  services: [],
  namespace: 'shop',
  deployment,
});
const secret = (name: string, secretName: string): Volume => ({ name, secret: { secretName } });

describe('the likeliest Secret of a webhook', () => {
  const volumes = [secret('metrics', 'metrics-server-cert'), secret('webhook', 'webhook-server-cert')];
  const volumeMounts = [
    { name: 'metrics', mountPath: '/tmp/k8s-metrics-server/metrics-certs' },
    { name: 'webhook', mountPath: '/certs/' },
  ];
  const first = (args: string[], mounts = volumeMounts): string | undefined => {
    const { object, container } = manager({ args, volumeMounts: mounts }, volumes);
    return certificateMounts(mountsOf(object, container), container)[0]?.name;
  };

  it('is the one mounted where the arguments say, whatever the flag is called', () => {
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

  it('is not that of the metrics, whose flag comes first in kubebuilder’s manifests', () => {
    const swapped = [
      { name: 'metrics', mountPath: '/metrics-certs' },
      { name: 'webhook', mountPath: '/pki' },
    ];
    expect(first(['--metrics-cert-path=/metrics-certs', '--webhook-cert-path=/pki'], swapped)).toBe(
      'webhook-server-cert',
    );
    expect(first(['--metrics-cert-path=/metrics-certs'], swapped)).toBe('webhook-server-cert');
  });

  it('is the one at controller-runtime’s own directory when nothing is said', () => {
    const named = [
      { name: 'metrics', mountPath: '/tmp/k8s-webhook-server/serving-certs' },
      { name: 'webhook', mountPath: '/x' },
    ];
    expect(first([], named)).toBe('metrics-server-cert');
  });
});

describe('mounted files', () => {
  it('come with the names and the place that the container sees: items, projected volumes, subPath', async () => {
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
    const at = (directory: string) => found.find((one) => one.directory === directory);
    expect(at('/apiserver.local.config/certificates')?.files).toEqual({
      'apiserver.crt': 'QQ==',
      'apiserver.key': 'Qg==',
    });
    expect(Object.keys(at('/projected')!.files)).toEqual(['tls.crt', 'tls.key', 'olmCAKey']);
    expect(at('/single')).toBeDefined();
    expect(found).toHaveLength(3);
  });

  it('of a Secret that does not exist yet are none, and it is said to be absent', async () => {
    const deployment = manager({ volumeMounts: [{ name: 'c', mountPath: '/c' }] }, [secret('c', 'later')]);
    expect(await certificateCandidates(fakeCluster().api, target(deployment))).toEqual([
      { namespace: 'shop', name: 'later', files: {}, directory: '/c', exists: false },
    ]);
  });

  it('are laid out when an argument names them, and only then', async () => {
    const cluster = fakeCluster();
    cluster.put('ConfigMap', {
      metadata: { name: 'config', namespace: 'shop' },
      data: { 'controller.yaml': 'a: ä', other: 'x' },
      binaryData: { blob: '/w==' },
    });
    const volumes: Volume[] = [{ name: 'config', configMap: { name: 'config' } }];
    const volumeMounts = [
      { name: 'config', mountPath: '/controller.yaml', subPath: 'controller.yaml' },
      { name: 'config', mountPath: '/etc/config' },
      { name: 'config', mountPath: '/etc/config-unnamed' },
    ];
    const found = await namedMounts(cluster.api, target(manager({ volumeMounts }, volumes)), [
      '--config=/controller.yaml',
      '--dir',
      '/etc/config/other',
    ]);
    expect(found.map((one) => [one.path, one.isFile, Object.keys(one.files)])).toEqual([
      ['/controller.yaml', true, ['controller.yaml']],
      ['/etc/config', false, ['controller.yaml', 'other', 'blob']],
    ]);
    expect(found[0]!.files['controller.yaml']!.toString()).toBe('a: ä');
    expect([...found[1]!.files.blob!]).toEqual([255]);
  });

  it('that no volume mounts are looked for among the Secrets with PEM', async () => {
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
  it('is what the kubelet would give: envFrom first, variables expanded, contents of others as they are', async () => {
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
            valueFrom: { configMapKeyRef: { name: 'settings', key: 'none', optional: true } },
          },
          { name: 'MISSING', valueFrom: { secretKeyRef: { name: 'db', key: 'none' } } },
          { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
        ],
      }),
    );
    expect(env.values).toEqual({
      S_LEVEL: 'info',
      S_REGION: 'eu',
      PLAIN: '',
      URL: 'http://eu/$(UNKNOWN)/$(S_REGION)',
      PASSWORD: 'pa$$word $(LEVEL)',
      POD_NAMESPACE: 'shop',
      APP: 'shop',
      SERVICE_ACCOUNT_NAME: 'shop-sa',
    });
    expect(env.unknown.map((one) => one.name)).toEqual(['*', 'MISSING', 'LIMIT']);
    expect(cluster.calls.filter((call) => call === 'get ConfigMap shop/settings')).toHaveLength(1);
  });

  it('expands arguments in the same way', () => {
    expect(expandArguments(['--ns=$(NS)', '$$(NS)', '$(NO)'], { NS: 'shop' })).toEqual([
      '--ns=shop',
      '$(NS)',
      '$(NO)',
    ]);
  });
});

describe('our endpoints', () => {
  const service: Service = { metadata: { name: 'webhook-service', namespace: 'shop' }, spec: {} };
  const to = {
    address: 'fd00::7',
    ports: [
      { name: '', port: 40001 },
      { name: 'conversion', port: 40002 },
    ],
  };

  it('carry the names of the Service’s ports, the family of the address, and the mark', () => {
    const slice = ourSlice(service, 's1', to);
    expect(slice).toMatchObject({
      addressType: 'IPv6',
      endpoints: [{ addresses: ['fd00::7'], conditions: { ready: true } }],
    });
    expect(slice.ports).toEqual([
      { name: '', port: 40001, protocol: 'TCP' },
      { name: 'conversion', port: 40002, protocol: 'TCP' },
    ]);
    expect(slice.metadata.labels).toMatchObject({
      'kubernetes.io/service-name': 'webhook-service',
      'devloop.dev/session': 's1',
    });
    expect(isControllerSlice(slice)).toBe(false);
    const endpoints = ourEndpoints(service, 's1', to, {
      metadata: { name: 'webhook-service', namespace: 'shop', resourceVersion: '5', labels: { app: 'x' } },
    });
    expect(endpoints.metadata).toMatchObject({
      resourceVersion: '5',
      labels: { app: 'x', 'endpointslice.kubernetes.io/skip-mirror': 'true', 'devloop.dev/session': 's1' },
    });
    expect(endpoints.subsets?.[0]?.ports).toEqual([
      { port: 40001, protocol: 'TCP' },
      { name: 'conversion', port: 40002, protocol: 'TCP' },
    ]);
  });

  it('of two Services with long names that begin alike do not take each other’s name', () => {
    const long = (end: string): Service => ({
      metadata: { name: `${'a'.repeat(55)}-${end}`, namespace: 'shop' },
      spec: {},
    });
    expect(ourSlice(long('one'), 's1', to).metadata.name).not.toBe(
      ourSlice(long('two'), 's1', to).metadata.name,
    );
  });
});

describe('a Service', () => {
  const service = (spec: Service['spec'], labels = {}): Service => ({
    metadata: { name: 'x', namespace: 'shop', labels },
    spec,
  });

  it.each([
    ['headless', { clusterIP: 'None', selector: { a: 'b' } }],
    ['of type ExternalName', { type: 'ExternalName' }],
    ['without a selector', { clusterIP: '10.0.0.1' }],
    ['with an empty selector', { clusterIP: '10.0.0.1', selector: {} }],
  ])('%s is refused', (_name, spec) => {
    expect(() => assertTakeable(service(spec))).toThrow(
      expect.objectContaining({ code: 'service.unsupported' }),
    );
  });

  it('whose selector a session took is not taken for one without', () => {
    expect(() => assertTakeable(service({}, { 'devloop.dev/session': 's1' }))).not.toThrow();
  });

  it('of one family takes no address of the other', () => {
    expect(() => assertTakeable(service({ selector: { a: 'b' }, ipFamilies: ['IPv6'] }), '10.0.0.7')).toThrow(
      expect.objectContaining({ code: 'route.address' }),
    );
    expect(() =>
      assertTakeable(service({ selector: { a: 'b' }, ipFamilies: ['IPv6', 'IPv4'] }), '10.0.0.7'),
    ).not.toThrow();
  });

  it('selects a Deployment by all its labels, and none by an empty selector', () => {
    const { object } = manager({});
    expect(isSelectedBy(object, { app: 'shop' })).toBe(true);
    expect(isSelectedBy(object, { app: 'shop', tier: 'x' })).toBe(false);
    expect(isSelectedBy(object, {})).toBe(false);
  });
});
