import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { homedir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import type { Container, Volume, Workload } from '../../../src/cluster/api/workloads.ts';
import { applyRules, busyPortsIn } from '../../../src/local/apply-rules.ts';
import { localCopies, mountedTexts } from '../../../src/local/local-copies.ts';
import { planMounts } from '../../../src/local/plan-mounts.ts';
import { RULES } from '../../../src/local/rules.ts';
import { openSettings } from '../../../src/local/settings.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const NAMESPACE = 'shop';
const DIRECTORY = '/state/s1';
const SETTINGS: Volume = { name: 'settings', configMap: { name: 'settings' } };

interface Case {
  volumes: Volume[];
  /** `path` or `path:subPath` by the name of the volume. */
  mounts: Record<string, string>;
  words: string[];
  sourcePaths?: string[];
  initContainers?: Container[];
  keyPairMounts?: string[];
  mayPlace?: boolean;
  /** More files of the ConfigMap. */
  data?: Record<string, string>;
}

/** Plans the mounts of a manager in a cluster with some ConfigMaps and Secrets. */
async function plan({
  volumes,
  mounts,
  words,
  sourcePaths = [],
  initContainers = [],
  keyPairMounts = [],
  mayPlace = false,
  data = {},
}: Case) {
  const cluster = fakeCluster();
  const metadata = (name: string) => ({ name, namespace: NAMESPACE });
  const settings = {
    'manager.yaml': 'leaderElect: true\n',
    'other.yaml': 'certDir: /certs/\nca: /ca/ca.crt\n',
    ...data,
  };
  cluster.put('ConfigMap', {
    metadata: metadata('settings'),
    data: settings,
    binaryData: { blob: '/w==' },
  } as never);
  cluster.put('Secret', { metadata: metadata('ca'), data: { 'ca.crt': 'Q0E=' } } as never);
  const container: Container = {
    name: 'manager',
    resources: { limits: { memory: '64Mi' } },
    volumeMounts: Object.entries(mounts).map(([name, at]) => {
      const [mountPath = '', subPath] = at.split(':');
      return { name, mountPath, ...(subPath === undefined ? {} : { subPath }) };
    }),
  };
  const template = {
    metadata: { labels: { b: '2', a: 'x"y' } },
    spec: { containers: [container], initContainers, volumes },
  };
  const object: Workload = { metadata: metadata('shop'), spec: { selector: {}, template } };
  const manager = { ref: { kind: 'Deployment' as const, name: 'shop' }, object, container, source: '' };
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent) => void events.push(event);
  const planned = await planMounts(
    {
      api: cluster.api,
      target: { services: [], namespace: NAMESPACE, manager },
      podName: 'shop-devloop-s1',
      files: { directory: DIRECTORY, keyPairDirectory: `${DIRECTORY}/certs` },
      keyPairMounts,
      mayPlace,
      facts: { paths: new Set(sourcePaths) },
    },
    words,
    emit,
  );
  // Their names contain a hash.
  const hashed = planned.copied.map(({ directory }) => directory).filter((one) => one.includes('/mounts/'));
  const numbered = (text: string) =>
    hashed.reduce((all, one, index) => all.replaceAll(one, `${DIRECTORY}/mounts/${index}`), text);
  const start = { args: [], variables: {}, files: mountedTexts(planned.copied) };
  const local = openSettings(start, { secrets: new Set(), commandNames: new Set() });
  const here = {
    ...planned,
    busyPorts: await busyPortsIn(local.read()),
    isElectable: false,
    electionVariables: new Set<string>(),
  };
  await applyRules(RULES, local, here, emit);
  const needed = localCopies(planned.copied, local.result().files);
  const told = (type: 'note' | 'warning') =>
    events.flatMap((event) => (event.type === type ? [{ code: event.code, values: event.values }] : []));
  const files = needed.map(({ files }) =>
    Object.fromEntries(Object.entries(files).map(([name, content]) => [name, numbered(String(content))])),
  );
  const at = Object.fromEntries(
    planned.paths.map(({ from, to }) => [from, numbered(to).replace(`${DIRECTORY}/`, '')]),
  );
  const executable = needed.map((one) => one.executable);
  const placed = planned.placed.map((one) => ({ ...one, from: numbered(one.from) }));
  return { at, files, executable, notes: told('note'), warnings: told('warning'), placed };
}

test('a file and a directory that an argument names are copied; leader election is turned off in the copy', async () => {
  const { at, files, notes, warnings } = await plan({
    volumes: [SETTINGS, { name: 'ca', secret: { secretName: 'ca' } }],
    mounts: { settings: '/manager.yaml:manager.yaml', ca: '/ca/' },
    words: ['--config=/manager.yaml', '--ca', '/ca/ca.crt'],
  });
  expect(at).toEqual({ '/manager.yaml': 'mounts/0/manager.yaml', '/ca': 'mounts/1' });
  expect(files).toEqual([{ 'manager.yaml': 'leaderElect: false\n' }, { 'ca.crt': 'CA' }]);
  const values = expect.objectContaining({ setting: 'leaderElect', file: 'manager.yaml' });
  expect(notes).toContainEqual({ code: 'setting.changed', values });
  expect(warnings).toEqual([]);
});

test('the key pair of webhooks that nothing calls is copied to where controller-runtime looks for it', async () => {
  const mounted = (secretName: string, path: string) =>
    plan({ volumes: [{ name: 'cert', secret: { secretName } }], mounts: { cert: path }, words: [] });
  const path = '/tmp/k8s-webhook-server/serving-certs';
  const { at, files, notes } = await mounted('ca', path);
  expect(at).toEqual({ [path]: 'tmp/k8s-webhook-server/serving-certs' });
  expect(files).toEqual([{ 'ca.crt': 'CA' }]);
  expect(notes.map(({ code }) => code)).not.toContain('mounts.unnamed');
  for (const [secret, elsewhere] of [['ca', '/certs'] as const, ['gone', path] as const]) {
    const { files: none, notes: others } = await mounted(secret, elsewhere);
    expect(none).toEqual([]);
    const values = { mounts: [{ path: elsewhere, volume: expect.any(String) }] };
    expect(others).toContainEqual({ code: 'mounts.unnamed', values });
  }
});

test.each<[string, Volume[], string, string[][]]>([
  ['nothing', [SETTINGS], '/x', [[]]],
  [
    'a ConfigMap',
    [{ name: 'settings', configMap: { name: 'settings', defaultMode: 0o755 } }],
    '/x:blob',
    [['blob']],
  ],
  [
    'an item',
    [
      {
        name: 'settings',
        configMap: {
          name: 'settings',
          items: [
            { key: 'blob', path: 'a/b', mode: 0o555 },
            { key: 'other.yaml', path: 'c' },
          ],
        },
      },
    ],
    '/x',
    [['a/b']],
  ],
  [
    'a directory of a projected volume',
    [
      {
        name: 'settings',
        projected: {
          defaultMode: 0o500,
          sources: [
            {
              configMap: {
                name: 'settings',
                items: [
                  { key: 'blob', path: 'a/b' },
                  { key: 'other.yaml', path: 'c' },
                ],
              },
            },
            { secret: { name: 'ca', items: [{ key: 'ca.crt', path: 'a/c', mode: 0o400 }] } },
          ],
        },
      },
    ],
    '/x:a',
    [['b']],
  ],
])('a copy can be run where the mounted file can: the mode of %s', async (_, volumes, at, expected) => {
  const { executable } = await plan({ volumes, mounts: { settings: at }, words: ['--run=/x'] });
  expect(executable).toEqual(expected);
});

test('a port of a mounted file that is in use is another one in the copy, with a note', async () => {
  const server = createServer().listen(0);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { files, notes } = await plan({
    volumes: [SETTINGS],
    mounts: { settings: '/health.yaml:health.yaml' },
    words: ['--config=/health.yaml'],
    data: { 'health.yaml': `health-port: ${port}\n` },
  });
  expect(files).toEqual([{ 'health.yaml': 'health-port: 0\n' }]);
  const values = expect.objectContaining({ setting: 'health-port', before: String(port) });
  expect(notes).toContainEqual({ code: 'setting.changed', values });
});

test('a copied file that names other mounts gets their copies, and the key pair', async () => {
  const { at, files } = await plan({
    volumes: [SETTINGS, { name: 'ca', secret: { secretName: 'ca' } }],
    mounts: { settings: '/settings.yaml:other.yaml', ca: '/ca' },
    words: ['--config=/settings.yaml'],
    keyPairMounts: ['/certs'],
  });
  expect(at).toMatchObject({ '/ca': 'mounts/1', '/certs': 'certs' });
  expect(files[0]).toEqual({ 'other.yaml': 'certDir: /state/s1/certs/\nca: /state/s1/mounts/1/ca.crt\n' });
});

test('a projected volume has the files of all its sources, and what only a Pod has is a warning', async () => {
  const items = [
    { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
    { path: 'name', fieldRef: { fieldPath: 'metadata.name' } },
    {
      path: 'memory',
      resourceFieldRef: { containerName: 'manager', resource: 'limits.memory', divisor: '1Mi' },
    },
    { path: 'node', fieldRef: { fieldPath: 'spec.nodeName' } },
  ];
  const sources = [
    { secret: { name: 'ca' } },
    { configMap: { name: 'settings', items: [{ key: 'manager.yaml', path: 'sub/m.yaml' }] } },
    { configMap: { name: 'absent', optional: true } },
    { downwardAPI: { items } },
    { serviceAccountToken: { path: 'token', audience: 'vault' } },
  ];
  const { files, warnings } = await plan({
    volumes: [{ name: 'all', projected: { sources } }],
    mounts: { all: '/all' },
    words: ['--dir=/all'],
  });
  expect(files).toEqual([
    {
      'ca.crt': 'CA',
      'sub/m.yaml': 'leaderElect: false\n',
      labels: 'a="x\\"y"\nb="2"',
      name: 'shop-devloop-s1',
      memory: '64',
    },
  ]);
  expect(warnings).toMatchObject([{ code: 'mount.incomplete', values: { path: '/all' } }]);
  expect(JSON.stringify(warnings)).toMatch(/file node.*token.* vault/);
});

test('an empty directory is there, and a warning names what an init container writes to it', async () => {
  const volumes: Volume[] = [
    { name: 'cache', emptyDir: {} },
    { name: 'data', emptyDir: {} },
  ];
  const initContainers = [
    { name: 'fetch', volumeMounts: [{ name: 'data', mountPath: '/out' }] },
    { name: 'check', volumeMounts: [{ name: 'data', mountPath: '/in', readOnly: true }] },
  ];
  const mounts = { cache: '/cache', data: '/data' };
  const { at, files, warnings } = await plan({
    volumes,
    mounts,
    words: ['--c=/cache', '--d=/data/x'],
    initContainers,
  });
  expect(at).toEqual({ '/cache': 'mounts/0', '/data': 'mounts/1' });
  expect(files).toEqual([{}, {}]);
  const lacking = [expect.stringContaining('init container fetch')];
  expect(warnings).toMatchObject([{ code: 'mount.incomplete', values: { path: '/data', lacking } }]);
});

test.each<[string, Volume]>([
  ['csi', { name: 'v', csi: { driver: 'secrets.example.com' } }],
  ['persistentVolumeClaim', { name: 'v', persistentVolumeClaim: { claimName: 'data' } } as Volume],
  ['secret', { name: 'v', secret: { secretName: 'absent' } }],
])(
  'a volume whose contents are only in the cluster is an empty directory, with a warning: %s',
  async (_, volume) => {
    const { at, files, warnings } = await plan({ volumes: [volume], mounts: { v: '/v' }, words: ['--d=/v'] });
    expect([at, files]).toEqual([{ '/v': 'mounts/0' }, [{}]]);
    expect(warnings).toMatchObject([{ code: 'mount.incomplete', values: { path: '/v' } }]);
  },
);

test('what nothing names is not copied: a warning where the sources name it, else a note', async () => {
  const { at, notes, warnings } = await plan({
    volumes: [
      SETTINGS,
      { name: 'cache', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
      { name: 'pair', secret: { secretName: 'ca' } },
    ],
    mounts: { settings: '/etc/shop', cache: '/cache', tmp: '/tmp', pair: '/certs/tls.crt:tls.crt' },
    keyPairMounts: ['/certs'],
    words: ['--x=/etc/shop-2', '--y=/tmp/x'],
    sourcePaths: ['/etc/shop/manager.yaml'],
  });
  expect(at).toEqual({ '/certs': 'certs' });
  const [settings, cache] = [
    { path: '/etc/shop', volume: 'ConfigMap settings' },
    { path: '/cache', volume: 'emptyDir cache' },
  ];
  expect(warnings).toEqual([{ code: 'mounts.missed', values: { mounts: [settings] } }]);
  expect(notes).toEqual([{ code: 'mounts.unnamed', values: { mounts: [cache] } }]);
});

test('what only the sources name is found in its place, where files can be placed', async () => {
  const named = {
    volumes: [SETTINGS, { name: 'cache', emptyDir: {} }],
    mounts: { settings: '/etc/shop', cache: '/etc/cache' },
    words: [],
    sourcePaths: ['/etc/shop/', '/etc/shop/manager.yaml', '/etc/cache'],
  };
  const { at, files, placed, warnings } = await plan({ ...named, mayPlace: true });
  expect(placed).toEqual([
    { from: `${DIRECTORY}/mounts/0`, to: '/etc/shop', mayRun: false },
    // The program is allowed to write there, but could not create it, and can run what it writes.
    { from: `${DIRECTORY}/mounts/1`, to: '/etc/cache', mayRun: true },
  ]);
  expect(at).toEqual({});
  expect(files[0]!['manager.yaml']).toBe('leaderElect: false\n');
  expect(files[1]).toEqual({});
  expect(warnings).toEqual([]);
  const elsewhere = { ...named, mounts: { settings: '/shop' }, sourcePaths: ['/shop'], mayPlace: true };
  expect((await plan(elsewhere)).placed).toMatchObject([{ to: '/shop' }]);
  expect((await plan(named)).placed).toEqual([]);
});

test('of a volume, only what the sources name is there', async () => {
  const items = ['a/x', 'a/y', 'b', 'c'].map((path) => ({ key: 'blob', path }));
  const { placed, files } = await plan({
    volumes: [{ name: 'settings', configMap: { name: 'settings', items } }],
    mounts: { settings: '/shop' },
    words: [],
    sourcePaths: ['/shop/a', '/shop/a/x', '/shop/b', '/shop/none', '/shops/c'],
    mayPlace: true,
  });
  // A directory, because a file that is mounted by itself does not change any more.
  expect(placed).toMatchObject([{ from: `${DIRECTORY}/mounts/0`, to: '/shop' }]);
  expect(files.map((all) => Object.keys(all))).toEqual([['a/x', 'a/y', 'b']]);
});

test.each([
  ['/etc', '/etc/shop/manager.yaml/x'],
  ['/etc', '/etc/manager.yaml'],
  ['/usr', '/usr/shop/config.yaml'],
  ['/etc/passwd:manager.yaml', '/etc/passwd'],
  ['/etc/ld.so.preload:manager.yaml', '/etc/ld.so.preload'],
  ['/usr/local/sbin', '/usr/local/sbin/manager.yaml'],
  ['/usr/local/no-such-directory', '/usr/local/no-such-directory/manager.yaml'],
  [`${homedir()}/.no-such-directory`, `${homedir()}/.no-such-directory/manager.yaml`],
])(
  'nothing of a Pod is where programs of this machine look: %s, which the sources name by %s',
  async (place, path) => {
    const { placed } = await plan({
      volumes: [SETTINGS],
      mounts: { settings: place },
      words: [],
      sourcePaths: [path],
      mayPlace: true,
    });
    expect(placed).toEqual([]);
  },
);

test('a warning names what the sources would find in such a place', async () => {
  const { warnings } = await plan({
    volumes: [SETTINGS],
    mounts: { settings: '/etc' },
    words: [],
    sourcePaths: ['/etc/manager.yaml'],
    mayPlace: true,
  });
  const mounts = [{ path: '/etc', volume: 'ConfigMap settings' }];
  expect(warnings).toEqual([{ code: 'mounts.missed', values: { mounts } }]);
});

test('the files of a ServiceAccount that the Pod mounts itself are not put over those of the controller', async () => {
  const path = '/var/run/secrets/kubernetes.io/serviceaccount';
  const namespace = { path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } };
  const sources = [{ serviceAccountToken: { path: 'token' } }, { downwardAPI: { items: [namespace] } }];
  const { placed, files, notes, warnings } = await plan({
    volumes: [{ name: 'kube-api-access', projected: { sources } }],
    mounts: { 'kube-api-access': `${path}/` },
    words: [],
    sourcePaths: [`${path}/namespace`],
    mayPlace: true,
  });
  expect({ placed, files, notes, warnings }).toEqual({ placed: [], files: [], notes: [], warnings: [] });
});
