import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import type { Service, WebhookConfiguration } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { TestCluster } from '../../cluster/cluster.ts';
import { account } from '../../support/account.ts';
import { established } from '../../support/cluster-waits.ts';
import { runDevloop, startDevloop } from '../../support/devloop.ts';
import { eventually } from '../../support/eventually.ts';
import { hookServer } from '../../support/hook-server.ts';
import { loadRelayImage } from '../../support/relay-image.ts';
import {
  application,
  checkoutSample,
  DEPLOYMENT,
  NAMESPACE,
  rolledOut,
  SERVICE,
} from '../../support/sample-operator.ts';
import { sharedSample } from '../../support/shared-sample.ts';
import { snapshot } from '../../support/snapshot.ts';

type Finding = Extract<DevloopEvent, { type: 'finding' }>;
type Json = Record<string, unknown>;

/** An address in TEST-NET-3, where nothing answers. */
const BLACK_HOLE = '203.0.113.7';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CONFIGURATION = `${ADMISSION}/validatingwebhookconfigurations/application-operator-validating-webhook-configuration`;
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
const SERVICE_PATH = `/api/v1/namespaces/${NAMESPACE}/services/${SERVICE}`;
const DEPLOYMENT_PATH = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${DEPLOYMENT}`;

let cluster: TestCluster;
let checkout: string;
let scratch: string;
const own: AsyncDisposable[] = [];

beforeAll(async () => {
  cluster = await sharedSample();
  await loadRelayImage(cluster);
  const sample = await checkoutSample();
  own.push(sample);
  checkout = sample.directory;
  scratch = await mkdtemp(join(tmpdir(), 'devloop-doctor-'));
  // cert-manager would correct the caBundles that these tests break.
  for (const kind of ['validating', 'mutating']) {
    const path = `${ADMISSION}/${kind}webhookconfigurations/application-operator-${kind}-webhook-configuration`;
    await annotate(path, 'cert-manager.io/inject-ca-from', null);
  }
});

afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
  for (const one of own) await one[Symbol.asyncDispose]();
});

const env = (): Record<string, string> => ({
  KUBECONFIG: cluster.kubeconfig,
  KUBEBUILDER_ASSETS: '',
});

interface Diagnosis {
  code: number;
  of(check: string): Finding[];
  log: string;
  events: DevloopEvent[];
}

/** By one route, unless a test is about the choice, because the others take time. */
async function doctor(
  args: string[] = [],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Diagnosis> {
  const route = args.includes('--route') ? [] : ['--route', 'direct'];
  // Naming the context agrees to changes in the cluster.
  const named = ['--context', cluster.name];
  const { code, events, log } = await runDevloop(['doctor', ...named, ...route, ...args], {
    cwd: options.cwd ?? checkout,
    env: { ...env(), ...options.env },
  });
  const findings = events.filter((event) => event.type === 'finding');
  expect(log).not.toMatch(/^\s+at .+:\d+:\d+\)?$|This is a bug/m);
  return { code, log, events, of: (check) => findings.filter((one) => one.check === check) };
}

const merge = (path: string, patch: object): Promise<unknown> => cluster.call('PATCH', path, patch);

function annotate(path: string, key: string, value: string | null): Promise<unknown> {
  return merge(path, { metadata: { annotations: { [key]: value } } });
}

/** Everything that doctor could change, and its resourceVersions. */
async function versions(): Promise<string[]> {
  const own = ['api/v1', 'apis/apps/v1', 'apis/discovery.k8s.io/v1'].map(
    (group) => `/${group}/namespaces/${NAMESPACE}/`,
  );
  const lists = [
    ...['services', 'endpoints', 'secrets', 'configmaps'].map((plural) => own[0] + plural),
    ...['deployments', 'replicasets'].map((plural) => own[1] + plural),
    `${own[2]}endpointslices`,
    `${ADMISSION}/validatingwebhookconfigurations`,
    `${ADMISSION}/mutatingwebhookconfigurations`,
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ];
  const lines = lists.map(async (path) => {
    const { items } = (await cluster.read(path)) as { items: { metadata: Json }[] };
    return items.map(({ metadata }) => `${path} ${metadata.name} ${metadata.resourceVersion}`);
  });
  return (await Promise.all(lines)).flat().sort();
}

/** The objects that exist once everything before has settled: Pods that end, controllers that count. */
function atRest(): Promise<{ versions: unknown; snapshot: Awaited<ReturnType<typeof snapshot>> }> {
  return eventually(async () => {
    const seen = { versions: await versions(), snapshot: await snapshot(cluster, NAMESPACE) };
    expect(seen.snapshot.marked).toEqual([]);
    await pause(300);
    expect(await versions()).toEqual(seen.versions);
    return seen;
  });
}

it('finds everything in order, leaves the operator unchanged, and leaves nothing behind', async () => {
  const before = await atRest();
  const { code, log, of, events } = await doctor(['--route', 'auto']);
  expect(code, log).toBe(0);
  const verdicts = events.flatMap((one) => (one.type === 'finding' ? [`${one.check}: ${one.verdict}`] : []));
  expect(verdicts, log).toEqual([
    'cluster: ok',
    'account: ok',
    'target: ok',
    'service: ok',
    'pause: ok',
    'consent: ok',
    'permissions: ok',
    'identity: ok',
    'session: ok',
    'certificate: ok',
    'toolchain: ok',
    'program: ok',
    'port: ok',
    'route direct: ok',
    'route relay: ok',
    'endpoint routing: ok',
    'pods: ok',
    'owners: ok',
    'finalizers: ok',
    'manifests: ok',
    'envtest: warn',
    // Not every machine has delve.
    expect.stringMatching(/^debugger: (?:ok|info)$/),
    'clock: ok',
  ]);
  expect(of('cluster')[0]).toMatchObject({
    answer: expect.stringMatching(/^Kubernetes v1\./),
    latencyMs: expect.any(Number),
  });
  expect(of('target')[0]!.answer).toContain(
    `Service ${NAMESPACE}/${SERVICE}\nDeployment ${NAMESPACE}/${DEPLOYMENT}`,
  );
  expect(of('route direct')[0]).toMatchObject({
    answer: expect.stringContaining(cluster.hostIp),
    latencyMs: expect.any(Number),
  });
  expect(of('endpoint routing')[0]!.answer).toMatch(/^off/);
  expect(of('certificate')[0]!.proof).toContainEqual(expect.stringContaining('cert-manager renews it at'));
  // That of `envtest`.
  expect(events.at(-1)).toMatchObject({ type: 'note', code: 'doctor.works', values: { warnings: 1 } });
  // The relay's Pod is terminating, which takes a moment.
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before.snapshot));
  expect(await versions()).toEqual(before.versions);
});

it('prints columns and words for people, without colours if there is no terminal', async () => {
  const out = execFileSync(
    process.execPath,
    [join(import.meta.dirname, '../../../bin/devloop.js'), 'doctor'],
    {
      cwd: checkout,
      env: { ...process.env, ...env() },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  expect(out).toMatch(/^ok {7}cluster {10}Kubernetes v1\./);
  expect(out).toMatch(/^ok {7}manifests /m);
  expect(out).toMatch(/^unknown {2}route direct {5}not checked: .*not agreed/m);
  expect(out).not.toContain('\x1b');
});

it.each([
  ['behind', -1],
  ['ahead of', 1],
])('warns if the clock of this machine is ten minutes %s that of the API server', async (where, sign) => {
  const wrong = `const { now } = Date; Date.now = () => now() + ${sign * 600_000};`;
  const { code, log, of } = await doctor([], {
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(wrong)}` },
  });
  expect(code, log).toBe(0);
  expect(of('clock')).toEqual([
    expect.objectContaining({ verdict: 'warn', answer: expect.stringContaining(` 10 minutes ${where} `) }),
  ]);
});

it('names what else has a say in the number of Pods, and does not prevent the pause', async () => {
  const metadata = { name: 'say', namespace: NAMESPACE };
  const { spec } = (await cluster.read(DEPLOYMENT_PATH)) as Workload;
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: DEPLOYMENT };
  const budget = { selector: spec.selector, maxUnavailable: 0 };
  const others = [
    ['autoscaling/v2', 'HorizontalPodAutoscaler', { scaleTargetRef, minReplicas: 1, maxReplicas: 2 }],
    ['policy/v1', 'PodDisruptionBudget', budget],
  ];
  await cluster.apply(others.map(([apiVersion, kind, spec]) => ({ apiVersion, kind, metadata, spec })));
  const { code, log, of } = await doctor();
  expect(code, log).toBe(0);
  const [pausing] = of('pause');
  expect(pausing).toMatchObject({ verdict: 'ok' });
  expect(pausing!.proof).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        `^HorizontalPodAutoscaler ${NAMESPACE}/say .*Deployment ${NAMESPACE}/${DEPLOYMENT} `,
      ),
      expect.stringMatching(`^PodDisruptionBudget ${NAMESPACE}/say `),
    ]),
  );
  await cluster.kubectl(['-n', NAMESPACE, 'delete', 'hpa,pdb', 'say']);
});

describe('one broken thing', () => {
  it('a missing permission: 3, and the route is not probed', async () => {
    const rules = [
      { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] },
      { apiGroups: [''], resources: ['services'], verbs: ['*'] },
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        verbs: ['get', 'create', 'patch', 'delete'],
      },
    ];
    const KUBECONFIG = await account(cluster, 'half', rules);
    const { code, log, of } = await doctor([], { env: { KUBECONFIG } });
    expect(code, log).toBe(3);
    expect(of('account')[0]!.answer).toBe('half');
    expect(of('permissions')[0]).toMatchObject({
      verdict: 'fail',
      hint: expect.stringContaining('auth can-i'),
    });
    expect(of('permissions')[0]!.answer).toContain(
      `create, update, delete  endpoints in namespace ${NAMESPACE}`,
    );
    expect(of('permissions')[0]!.answer).toContain(`patch  deployments.apps in namespace ${NAMESPACE}`);
    for (const check of ['route direct', 'endpoint routing'])
      expect(of(check)).toMatchObject([
        { verdict: 'unknown', answer: expect.stringMatching(/not allowed to /) },
      ]);
    expect(of('certificate')[0]!.verdict).toBe('ok');
  });

  it('the certificate is for other names: 7', async () => {
    const { certificate, key } = await selfSignedPair(['other.example.svc'], { days: 10 });
    const stringData = { 'tls.crt': certificate, 'tls.key': key };
    await cluster.call('POST', SECRETS, { metadata: { name: 'wrong-names' }, stringData });
    await writeFile(join(checkout, 'devloop.yaml'), 'certificates: {secret: wrong-names}\n');
    try {
      const { code, log, of } = await doctor();
      expect(code, log).toBe(7);
      expect(of('certificate')[0]).toMatchObject({
        verdict: 'fail',
        answer: expect.stringContaining('it names only other.example.svc'),
        hint: expect.stringContaining(`-n ${NAMESPACE} describe secret wrong-names`),
      });
      expect(of('route direct')[0]!.verdict).toBe('ok');
    } finally {
      await rm(join(checkout, 'devloop.yaml'));
      await cluster.call('DELETE', `${SECRETS}/wrong-names`);
    }
  });

  /** Changes the validating webhook's client configuration while doctor looks at it. */
  async function whileCalledWith(path: string, value: unknown, look: () => Promise<void>): Promise<void> {
    const full = `/webhooks/0/clientConfig${path}`;
    const { webhooks } = (await cluster.read(CONFIGURATION)) as WebhookConfiguration;
    const client = webhooks![0]!.clientConfig;
    const before = path === '/caBundle' ? client.caBundle : client.service!.port;
    await merge(CONFIGURATION, [{ op: 'add', path: full, value }]);
    try {
      await look();
    } finally {
      await merge(CONFIGURATION, [{ op: 'add', path: full, value: before }]);
    }
  }

  it('the caBundle holds another CA: 7', async () => {
    const { certificate } = await selfSignedPair(['another.svc'], { days: 10 });
    await whileCalledWith('/caBundle', Buffer.from(certificate).toString('base64'), async () => {
      const { code, log, of } = await doctor();
      expect(code, log).toBe(7);
      expect(of('certificate')[0]).toMatchObject({
        verdict: 'fail',
        answer: expect.stringContaining('caBundle'),
        hint: expect.stringContaining('describe certificate application-operator-serving-cert'),
      });
    });
  });

  it('a webhook calls a port that the Service does not have: 2', async () => {
    await whileCalledWith('/service/port', 8443, async () => {
      const { code, log, of } = await doctor();
      expect(code, log).toBe(2);
      expect(of('service')).toMatchObject([
        { verdict: 'fail', answer: expect.stringMatching(/port 8443.* ValidatingWebhookConfiguration /) },
      ]);
      expect(of('target')[0]!.verdict).toBe('ok');
      expect(of('route direct')[0]!.verdict).toBe('ok');
    });
  });

  it('the name of the targetPort is declared nowhere: 2', async () => {
    const path = '/spec/ports/0/targetPort';
    const { spec } = (await cluster.read(SERVICE_PATH)) as Service;
    await merge(SERVICE_PATH, [{ op: 'replace', path, value: 'nope' }]);
    try {
      const { code, log, of } = await doctor();
      expect(code, log).toBe(2);
      expect(of('service')).toMatchObject([{ verdict: 'fail', answer: expect.stringContaining('"nope"') }]);
      expect(of('port')[0]).toMatchObject({ verdict: 'unknown' });
      expect(of('certificate')[0]!.verdict).toBe('ok');
    } finally {
      const value = spec.ports![0]!.targetPort;
      await merge(SERVICE_PATH, [{ op: 'replace', path, value }]);
    }
  });

  it('port 9443 is held: 6, with the holder', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(9443, '127.0.0.1', resolve));
    try {
      const { code, log, of } = await doctor();
      expect(code, log).toBe(6);
      expect(of('port')[0]).toMatchObject({
        verdict: 'fail',
        answer: expect.stringContaining(`process ${process.pid}`),
        hint: expect.stringContaining(`kill ${process.pid}`),
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('a live session holds the operator: 4; a dead one is a warning, and its hint restores it', async () => {
    await using up = startDevloop(['up', ...hookServer('local', '9443')], { cwd: checkout, env: env() });
    await up.waitFor('session.ready');
    const live = await doctor();
    expect(live.code, live.log).toBe(4);
    expect(live.of('session')[0]).toMatchObject({
      verdict: 'fail',
      answer: expect.stringContaining(`(pid ${up.pid})`),
    });
    expect(live.of('pods')[0]!.answer).toContain('taken over by session');
    up.signal('SIGKILL');
    await up.exited;
    try {
      const dead = await doctor();
      expect(dead.code, dead.log).toBe(0);
      expect(dead.of('session')[0]).toMatchObject({
        verdict: 'warn',
        hint: expect.stringMatching(/^devloop down/),
      });
      expect(dead.of('port')[0]).toMatchObject({
        verdict: 'warn',
        answer: expect.stringContaining('killed session'),
      });
    } finally {
      expect((await runDevloop(['down'], { cwd: checkout, env: env() })).code).toBe(0);
    }
    const { of } = await eventually(async () => {
      const found = await doctor();
      expect(found.of('pods')[0]!.verdict).toBe('ok');
      return found;
    });
    expect(of('session')[0]!.verdict).toBe('ok');
  }, 300_000);

  it('an object waits on a finalizer while the Deployment is at 0: a warning', async () => {
    const path = '/apis/apps.example.com/v1/namespaces/default/applications/leaving';
    const manifest = application('leaving', 'nginx:1.27').replace(
      'namespace: default',
      'namespace: default, finalizers: [example.com/held]',
    );
    await cluster.apply(manifest);
    await cluster.call('DELETE', path);
    expect((await doctor()).of('finalizers')[0]).toMatchObject({
      verdict: 'ok',
      answer: expect.stringContaining('can remove'),
    });
    await merge(DEPLOYMENT_PATH, { spec: { replicas: 0 } });
    try {
      const quiet = await eventually(async () => {
        const found = await doctor();
        expect(found.of('pods')[0]).toMatchObject({
          verdict: 'warn',
          answer: expect.stringContaining('no ready endpoint'),
        });
        return found;
      });
      expect(quiet.code, quiet.log).toBe(0);
      expect(quiet.of('finalizers')[0]).toMatchObject({
        verdict: 'warn',
        answer: expect.stringMatching(/Application default\/leaving \(.*example\.com\/held/),
        hint: expect.stringContaining(`scale deployment ${DEPLOYMENT} --replicas=1`),
      });
    } finally {
      await merge(DEPLOYMENT_PATH, { spec: { replicas: 1 } });
      await rolledOut(cluster);
      await eventually(() => merge(path, { metadata: { finalizers: null } }));
    }
  }, 300_000);

  const untilProbing = (): Promise<void> =>
    eventually(async () => {
      const { items } = (await cluster.read(`${ADMISSION}/validatingwebhookconfigurations`)) as {
        items: WebhookConfiguration[];
      };
      expect(items.map(({ metadata }) => metadata.name).join()).toContain('devloop-probe-');
    });

  it('Ctrl-C while it probes: 130, and nothing is left behind', async () => {
    const before = await atRest();
    await using run = startDevloop(['doctor', '--route', 'direct', '--address', BLACK_HOLE], {
      cwd: checkout,
      env: env(),
    });
    await untilProbing();
    run.signal('SIGINT');
    expect(await run.exited, run.log()).toBe(130);
    expect(await snapshot(cluster, NAMESPACE)).toEqual(before.snapshot);
    expect(await versions()).toEqual(before.versions);
  });

  it('kill -9 while it probes: devloop down removes what is left', async () => {
    const before = await atRest();
    await using run = startDevloop(['doctor', '--route', 'direct', '--address', BLACK_HOLE], {
      cwd: checkout,
      env: env(),
    });
    await untilProbing();
    run.signal('SIGKILL');
    await run.exited;
    expect(await snapshot(cluster, NAMESPACE)).not.toEqual(before.snapshot);
    expect((await runDevloop(['down'], { cwd: checkout, env: env() })).code).toBe(0);
    await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before.snapshot));
    expect(await versions()).toEqual(before.versions);
  });

  it('go.mod asks for a newer Go: 6 when none may be fetched, else a warning', async () => {
    await using sample = await checkoutSample();
    const file = join(sample.directory, 'go.mod');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/^go .*$/m, 'go 1.99.0'));
    const local = await doctor([], { cwd: sample.directory, env: { GOTOOLCHAIN: 'local' } });
    expect(local.code, local.log).toBe(6);
    expect(local.of('toolchain')[0]).toMatchObject({
      verdict: 'fail',
      answer: expect.stringContaining('go 1.99.0'),
    });
    const auto = await doctor([], { cwd: sample.directory, env: { GOTOOLCHAIN: 'auto' } });
    expect(auto.code, auto.log).toBe(0);
    expect(auto.of('toolchain')[0]).toMatchObject({
      verdict: 'warn',
      hint: expect.stringContaining('go.dev/dl'),
    });
    expect(auto.of('program')[0]!.answer).toMatch(/^not checked: .*Go/);
  });

  it('the build cannot start: 6, with the command that mends it', async () => {
    await using sample = await checkoutSample();
    await rm(join(sample.directory, 'go.sum'));
    const { code, log, of } = await doctor([], { cwd: sample.directory });
    expect(code, log).toBe(6);
    expect(of('toolchain')[0]!.verdict).toBe('ok');
    expect(of('program')).toMatchObject([
      { verdict: 'fail', answer: expect.stringContaining('go.sum'), hint: 'go mod tidy' },
    ]);
  });

  it('the cluster does not answer: 3, and this machine is still checked', async () => {
    const text = (await readFile(cluster.kubeconfig, 'utf8')).replace(':6443', ':1');
    await writeFile(join(scratch, 'config'), text);
    const { code, log, of, events } = await doctor([], { env: { KUBECONFIG: join(scratch, 'config') } });
    expect(code, log).toBe(3);
    expect(of('cluster')[0]!.verdict).toBe('fail');
    expect(of('toolchain')[0]!.verdict).toBe('ok');
    const others = events.filter(
      (one) => one.type === 'finding' && one.verdict !== 'ok' && one.check !== 'debugger',
    );
    expect(others, 'one finding says so').toMatchObject([{ check: 'cluster' }, { check: 'envtest' }]);
  });

  it('a field, a permission and a rule that only the checkout has are named, each in its line', async () => {
    await using sample = await checkoutSample();
    const manifests = async () => (await doctor([], { cwd: sample.directory })).of('manifests');
    expect(await manifests()).toMatchObject([{ verdict: 'ok' }]);
    const edit = async (file: string, from: string, to: string): Promise<void> => {
      const path = join(sample.directory, 'config', file);
      const text = await readFile(path, 'utf8');
      expect(text).toContain(from);
      await writeFile(path, text.replace(from, to));
    };
    const field = '              image:\n';
    await edit(
      'crd/bases/apps.example.com_applications.yaml',
      field,
      `              colour:\n                type: string\n${field}`,
    );
    await edit('rbac/role.yaml', '  - create\n', '  - create\n  - deletecollection\n');
    await edit('webhook/manifests.yaml', '    - UPDATE\n', '    - UPDATE\n    - DELETE\n');
    const answers = (await manifests()).map(({ verdict, answer }) => `${verdict} ${answer}`);
    expect(answers.sort()).toEqual([
      expect.stringMatching(
        /^warn ClusterRole .*manager-role .*: deletecollection deployments\.apps is only here$/,
      ),
      expect.stringMatching(/^warn CustomResourceDefinition .*: spec\.colour is only here$/),
      expect.stringMatching(/^warn MutatingWebhookConfiguration .*\.rules is different$/),
    ]);
  });
});

/**
 * Each of these waits for a route that does not work. doctor changes nothing, so several do not disturb each other, and together they leave
 * nothing behind.
 */
describe.concurrent('one route that does not work', () => {
  let before: Awaited<ReturnType<typeof snapshot>>;
  beforeAll(async () => {
    before = await snapshot(cluster, NAMESPACE);
  });
  afterAll(() => eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before)));

  it('the address is a black hole: 5, with the cause of kube-apiserver', async () => {
    const { code, log, of, events } = await doctor(['--address', BLACK_HOLE]);
    expect(code, log).toBe(5);
    expect(of('route direct')[0]).toMatchObject({
      verdict: 'fail',
      answer: expect.stringMatching(/203\.0\.113\.7 \(.*\): .*(deadline|time|route|refused)/),
      hint: expect.stringContaining('--address'),
    });
    expect(events.filter((one) => one.type === 'waiting').length).toBeGreaterThan(0);
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'route.none', exitCode: 5 });
  });

  it.each([
    ['direct', ['--address', BLACK_HOLE], BLACK_HOLE, 'relay'],
    ['relay', ['--relay-image', 'registry.invalid/none:1'], 'registry.invalid/none:1', 'direct'],
  ])(
    'the %s route fails and the other one works: information, and no warning of its own',
    async (name, flags, cause, other) => {
      const { code, log, of, events } = await doctor(['--route', 'auto', ...flags]);
      expect(code, log).toBe(0);
      expect(of(`route ${name}`)[0]).toMatchObject({
        verdict: 'info',
        answer: expect.stringMatching(/^not needed: .*\n.*/),
        hint: expect.any(String),
      });
      expect(of(`route ${name}`)[0]!.answer).toContain(cause);
      expect(of(`route ${other}`)[0]!.verdict).toBe('ok');
      expect(events.at(-1)).toMatchObject({ type: 'note', code: 'doctor.works', values: { warnings: 1 } });
    },
  );
});

describe('an owner that may overwrite changes', () => {
  async function owners(): Promise<Finding> {
    const { code, log, of } = await doctor();
    expect(code, log).toBe(0);
    expect(of('owners'), log).toHaveLength(1);
    return of('owners')[0]!;
  }

  it('Argo CD, whose Application says whether it does', async () => {
    const tracking = 'argocd.argoproj.io/tracking-id';
    await annotate(SERVICE_PATH, tracking, `shop:/Service:${NAMESPACE}/${SERVICE}`);
    try {
      expect(await owners()).toMatchObject({
        verdict: 'warn',
        answer: expect.stringMatching(/^Argo CD shop owns .* may overwrite/),
        hint: expect.stringContaining('-n argocd patch application shop'),
      });
      await cluster.apply(ARGO_CRD);
      await established(cluster, 'applications.argoproj.io');
      await cluster.apply(ARGO_APPLICATION);
      expect((await owners()).answer).toMatch(/will overwrite.*selfHeal: true/);
      await merge('/apis/argoproj.io/v1alpha1/namespaces/default/applications/shop', {
        spec: { syncPolicy: { automated: { enabled: false } } },
      });
      expect(await owners()).toMatchObject({
        verdict: 'ok',
        answer: expect.stringContaining('leaves them alone'),
      });
    } finally {
      await annotate(SERVICE_PATH, tracking, null);
    }
  });

  it('Flux and OLM, and Helm, which does not', async () => {
    const flux = 'kustomize.toolkit.fluxcd.io/name';
    const labels = { [flux]: 'shop', 'olm.owner': 'shop.v1.0.0' };
    await merge(SERVICE_PATH, { metadata: { labels } });
    await annotate(SERVICE_PATH, 'meta.helm.sh/release-name', 'shop');
    try {
      const { code, log, of } = await doctor();
      expect(code, log).toBe(0);
      const says = (answer: string | RegExp, verdict: string, hint?: string) =>
        expect.objectContaining({
          verdict,
          answer: expect.stringMatching(answer),
          ...(hint === undefined ? {} : { hint: expect.stringContaining(hint) }),
        });
      const found = of('owners');
      expect(found, log).toHaveLength(3);
      expect(found).toContainEqual(says('Flux', 'warn', 'patch kustomization shop'));
      expect(found).toContainEqual(says('OLM', 'warn', 'installPlanApproval'));
      expect(found).toContainEqual(says(/Helm .*shop .*upgrade/, 'ok'));
    } finally {
      await merge(SERVICE_PATH, { metadata: { labels: { [flux]: null, 'olm.owner': null } } });
      await annotate(SERVICE_PATH, 'meta.helm.sh/release-name', null);
    }
  });
});

const ARGO_CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io}
spec:
  group: argoproj.io
  names: {kind: Application, plural: applications}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;

const ARGO_APPLICATION = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: default}
spec: {syncPolicy: {automated: {selfHeal: true}}}
`;
