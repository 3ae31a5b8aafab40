import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { noCheckoutFacts } from '../../../src/checkout/facts.ts';
import { Checkout } from '../../../src/checkout/files.ts';
import { GO } from '../../../src/checkout/go/go.ts';
import type { FoundProgram } from '../../../src/checkout/language.ts';
import { startController } from '../../../src/controller/process.ts';
import { checkoutFacts } from '../../../src/languages.ts';
import { type ControllerInputs, planController } from '../../../src/local/plan.ts';
import { canPlace } from '../../../src/machine/mount-namespace.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { controllerOf } from '../../support/settings.ts';
import { directoryWith } from '../controller/support/places.ts';
import { definedFlag } from './support/defined-flag.ts';
import { CHECKOUT, inputs, MOUNT } from './support/inputs.ts';

const goFacts = () => ({ ...noCheckoutFacts(), language: GO });

const plan = (rest?: Partial<ControllerInputs>) =>
  planController(inputs(rest), { emit: () => {}, signal: new AbortController().signal });

test('a command of the user runs without the arguments of the Deployment, but with its environment', async () => {
  const planned = await plan();
  expect(planned).toMatchObject({
    plan: {
      cwd: CHECKOUT,
      build: undefined,
      run: ['./run'],
      env: { HOME: '/home/me', LEVEL: 'debug', TMPDIR: '/state/s1/tmp' },
      webhook: { host: '127.0.0.1', port: 9443 },
      watch: { checkout: CHECKOUT },
    },
    hardCoded: [MOUNT],
    needed: [],
  });
  expect(planned.plan.env).not.toHaveProperty('KUBECONFIG');
  expect(
    (await plan({ settings: controllerOf({}, { 'controller.run': ['make', 'run'] }) })).plan.run,
  ).toEqual(['make', 'run']);
});

test('a command of the user gets the arguments of the Deployment where it asks for them', async () => {
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  const run = ['dlv', 'exec', 'bin/manager', '--', '{args}', '--zap-devel'];
  expect((await planController(inputs({ settings: controllerOf({ run }) }), io)).plan.run).toEqual([
    ...['dlv', 'exec', 'bin/manager', '--', 'serve', '--leader-elect=false', '--zap-devel'],
  ]);
  expect(events).toContainEqual(
    expect.objectContaining({
      code: 'setting.changed',
      values: expect.objectContaining({ setting: '--leader-elect', after: 'false' }),
    }),
  );
  events.length = 0;
  await planController(inputs(), io);
  expect(events).toContainEqual(
    expect.objectContaining({
      code: 'command.without-arguments',
      values: expect.objectContaining({ command: './run', directory: '/state/s1/certs' }),
    }),
  );
  // It is not passed, so nothing is reported about it.
  expect(JSON.stringify(events)).not.toContain('leader-elect');
});

test('of a package that the user names, everything else is as discovered', async () => {
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'cmd/shop/main.go':
      'package main\n\nvar name = filepath.Base(os.Args[0]) + os.Getenv("LEVEL")\n\nfunc main() {}\n',
    Makefile: 'build:\n\tgo build -tags all -o bin/shop ./cmd/shop\n',
  });
  const own = { checkout: new Checkout(directory), facts: goFacts() };
  const expected = {
    cwd: directory,
    build: expect.arrayContaining(['-tags=all', './cmd/shop']),
    run: ['/state/s1/controller', 'serve', '--leader-elect=false'],
    runAs: 'manager',
    package: './cmd/shop',
    env: { LEVEL: 'info' },
    watch: { sources: expect.any(Function) },
  };
  const byFlag = await plan({
    settings: controllerOf({}, { 'controller.package': 'cmd/shop/main.go' }),
    ...own,
  });
  expect(byFlag.plan).toMatchObject(expected);
  expect(
    (await plan({ settings: controllerOf({ package: 'example.com/shop/cmd/shop' }), ...own })).plan,
  ).toMatchObject(expected);
  // A saved set names it as the session that recorded it chose it.
  expect(
    (await plan({ settings: controllerOf(), ...own, recordedPackage: './cmd/shop' })).plan,
  ).toMatchObject(expected);
  // The flag takes precedence over devloop.yaml, which takes precedence over a saved set.
  const settings = { run: ['./run'] };
  const command = await plan({ settings: controllerOf(settings), ...own, recordedPackage: './cmd/shop' });
  expect(command.plan).toMatchObject({ run: ['./run'] });
  expect(command.plan.package).toBeUndefined();
  expect(
    (await plan({ settings: controllerOf(settings, { 'controller.package': './cmd/shop' }), ...own })).plan,
  ).toMatchObject(expected);
  await expect(
    plan({ settings: controllerOf({ package: './cmd/shop', ...settings }), ...own }),
  ).rejects.toMatchObject({
    code: 'config.invalid',
  });
  await expect(
    plan({ settings: controllerOf({}, { 'controller.package': './cmd/other' }), ...own }),
  ).rejects.toMatchObject({
    code: 'controller.no-main',
    hint: 'devloop up --package ./cmd/shop',
  });
});

/** The cluster and the context of a kubeconfig, which pins both. */
const PINNED = {
  'current-context': 'fake',
  clusters: [{ name: 'fake', cluster: { server: 'https://fake:6443' } }],
  contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'me' } }],
};
const own = ['/home/me/.kube/config', '/home/me/.kube/more'];
const api = { ...fakeCluster().api, kubeconfigFiles: own };
const content = ({ needed }: { needed: { files: Record<string, unknown> }[] }) =>
  JSON.parse(String(needed[0]!.files.kubeconfig));

test('a program that reads a list of kubeconfigs gets one that pins cluster and context, and only its user comes from the files of the user', async () => {
  const root = await directoryWith({ 'go.mod': 'module m\n' });
  const planned = await plan({ api, checkout: new Checkout(root), facts: goFacts() });
  expect(planned.plan.env.KUBECONFIG).toBe(['/state/s1/kubeconfig', ...own].join(':'));
  expect(content(planned)).toMatchObject(PINNED);
  expect(content(planned)).not.toHaveProperty('users');
});

test.each([
  ['reads KUBECONFIG as one file', { ...goFacts(), kubeconfigVariable: true }],
  ['is not written in Go, and may take the current context of the last file', noCheckoutFacts()],
])('a program that %s gets one, which leads to the API proxy', async (_, facts) => {
  const proxy = { variables: {}, reports: undefined, directory: '/state/s1/start' };
  const root = await directoryWith({ 'main.py': '' });
  const own = { checkout: new Checkout(root), facts };
  const planned = await plan({ api, ...own, proxy });
  expect(planned.plan.env.KUBECONFIG).toBe('/state/s1/start/kubeconfig');
  expect(planned.needed).toEqual([]);
  // A dry run opens no connection.
  expect((await plan({ api, ...own })).plan.env.KUBECONFIG).toBe('/state/s1/kubeconfig');
});

test.each([
  ['its own flag', '', ['--kubeconfig=/state/s1/kubeconfig']],
  [
    'controller-runtime, which reads KUBECONFIG',
    'import _ "sigs.k8s.io/controller-runtime/pkg/client/config"',
    [],
  ],
])('a program whose kubeconfig comes from %s', async (_, imports, added) => {
  const runtime = 'sigs.k8s.io/controller-runtime';
  const root = await directoryWith({
    'go.mod': `module m\n\ngo 1.24\n\nrequire ${runtime} v0.0.0\n\nreplace ${runtime} => ./runtime\n`,
    'runtime/go.mod': `module ${runtime}\n\ngo 1.24\n`,
    'runtime/pkg/client/config/config.go': 'package config\n',
    'main.go': `package main\n\nimport "flag"\n${imports}\nconst path = "/hook"\nvar file = flag.String("kubeconfig", "", "")\n\nfunc main() {}\n`,
  });
  const rest = inputs({
    settings: controllerOf(),
    checkout: new Checkout(root),
    facts: await checkoutFacts(new Checkout(root)),
  });
  const [service] = rest.target.services;
  const call = {
    from: { kind: 'ValidatingWebhookConfiguration', name: 'a' } as const,
    name: 'v',
    path: '/hook',
  };
  service!.calls = [{ ...call, port: 443, caBundle: '', groups: [] }];
  const planned = await planController(
    { ...rest, api },
    { emit: () => {}, signal: new AbortController().signal },
  );
  expect(planned.plan.run.slice(1)).toEqual(['serve', ...added, '--leader-elect=false']);
  const list = ['/state/s1/kubeconfig', ...(added.length > 0 ? [] : own)];
  expect(planned.plan.env.KUBECONFIG).toBe(list.join(':'));
});

test('the flag for the kubeconfig is added for the command that knows it', async () => {
  const directory = await directoryWith({
    'go.mod': 'module m\n',
    'main.go': 'package main\nfunc main() {}\n',
  });
  const flags = [definedFlag('kubeconfig', '', { directory, command: 'shop' })];
  const commandNames = new Set(['shop', 'webhook']);
  const own = { checkout: new Checkout(directory), facts: { ...goFacts(), flags, commandNames } };
  const rest = inputs({ settings: controllerOf({ package: '.' }), ...own });
  const container = rest.target.manager!.container;
  const run = async (args: string[]): Promise<string[]> => {
    Object.assign(container, { command: ['/m'], args });
    return (await plan({ ...rest, api: { ...rest.api, kubeconfigFiles: ['/k'] } })).plan.run.slice(1);
  };
  expect(await run(['webhook', '--v=2'])).toEqual(['webhook', '--v=2']);
  expect(await run(['--v=2'])).toEqual(['--kubeconfig=/state/s1/kubeconfig', '--v=2']);
});

test('a build command without a run command is an error', async () => {
  await expect(plan({ settings: controllerOf({ build: ['make'] }) })).rejects.toMatchObject({
    code: 'config.invalid',
  });
});

test('the variables of the Deployment run no code in a command of the user', async () => {
  const directory = await directoryWith({
    'loaded.cjs': "console.log('LOADED')",
    'main.js': "console.log('began')",
  });
  const rest = inputs({
    settings: controllerOf({}, { 'controller.run': [process.execPath, join(directory, 'main.js')] }),
  });
  rest.target.manager!.container.env = [
    { name: 'NODE_OPTIONS', value: `--require=${join(directory, 'loaded.cjs')}` },
    { name: 'PATH', value: '/nowhere' },
  ];
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent) => void events.push(event);
  const planned = await planController(rest, { emit, signal: new AbortController().signal });
  const { run, env } = planned.plan;
  const controller = startController({ command: run, cwd: directory, env }, () => {});
  expect(await controller.exited).toMatchObject({ code: 0 });
  expect(controller.lastLines()).toEqual(['began']);
  expect(events).toContainEqual(
    expect.objectContaining({
      code: 'variables.left-out',
      values: expect.objectContaining({ variables: ['NODE_OPTIONS'] }),
    }),
  );
});

test('a value with a NUL byte is left out of the variables, and as an argument it is an error that does not quote it', async () => {
  const directory = await directoryWith({
    'go.mod': 'module m\n',
    'main.go': 'package main\n\nconst names = "LEVEL" + "TOKEN"\nfunc main() {}\n',
  });
  const rest = inputs({
    settings: controllerOf({ package: '.' }),
    checkout: new Checkout(directory),
    facts: goFacts(),
  });
  const { container } = rest.target.manager!;
  container.env = [
    { name: 'TOKEN', value: 'hidden\0value' },
    { name: 'LEVEL', value: 'info' },
  ];
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  const { env } = (
    await planController({ ...rest, settings: controllerOf({}, { 'controller.run': ['./run'] }) }, io)
  ).plan;
  expect(env).toMatchObject({ LEVEL: 'info' });
  expect(env).not.toHaveProperty('TOKEN');
  expect(events).toContainEqual(
    expect.objectContaining({
      code: 'variable.nul-byte',
      values: expect.objectContaining({ variable: 'TOKEN' }),
    }),
  );
  container.args = ['--token=$(TOKEN)'];
  const error = await planController(rest, io).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'controller.argument',
    message: expect.stringContaining('--token=$(TOKEN)'),
  });
  expect(JSON.stringify([String(error), events])).not.toContain('hidden');
});

test('leader election is turned off in the variables, with a note, also in one that only the sources bind to it', async () => {
  const facts = { ...goFacts(), electionVariables: new Set(['SHOP_HA']) };
  const rest = inputs({ checkout: new Checkout(CHECKOUT), facts });
  rest.target.manager!.container.env = [
    { name: 'ENABLE_LEADER_ELECTION', value: 'true' },
    { name: 'SHOP_HA', value: '1' },
    { name: 'SHOP_METRICS', value: '1' },
  ];
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  const { env } = (await planController(rest, io)).plan;
  expect(env).toMatchObject({ ENABLE_LEADER_ELECTION: 'false', SHOP_HA: '0', SHOP_METRICS: '1' });
  for (const setting of ['ENABLE_LEADER_ELECTION', 'SHOP_HA'])
    expect(events).toContainEqual(
      expect.objectContaining({
        code: 'setting.changed',
        values: expect.objectContaining({ setting, place: 'variable' }),
      }),
    );
});

test('a StatefulSet counts like a Deployment: its arguments, variables, and a name with an ordinal', async () => {
  const directory = await directoryWith({
    'go.mod': 'module m\n',
    'main.go': 'package main\n\nconst name = "POD_NAME"\nfunc main() {}\n',
  });
  const own = { checkout: new Checkout(directory), facts: goFacts() };
  const rest = inputs({ settings: controllerOf({ package: '.' }), ...own, podName: 'shop-devloop-s1-0' });
  const manager = rest.target.manager!;
  manager.ref = { ...manager.ref, kind: 'StatefulSet' };
  manager.container.args = ['--leader-elect', '--id=$(POD_NAME)'];
  manager.container.env = [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
  const { run, env } = (await planController(rest, { emit: () => {}, signal: new AbortController().signal }))
    .plan;
  expect(run.slice(1)).toEqual(['serve', '--leader-elect=false', '--id=shop-devloop-s1-0']);
  expect(env).toMatchObject({ POD_NAME: 'shop-devloop-s1-0' });
});

test('a key pair that the sources look for where nobody can write is passed by its flag', async () => {
  const directory = await directoryWith({
    'go.mod': 'module m\n',
    'main.go': 'package main\nfunc main() {}\n',
    file: '',
  });
  const mount = join(directory, 'file', 'certs');
  const flags = [
    definedFlag('cert-dir', mount, { directory }),
    definedFlag('of-another-program', mount, { directory: join(directory, 'other') }),
  ];
  const facts = { ...goFacts(), paths: new Set([mount]), flags };
  const rest = inputs({
    settings: controllerOf({ package: '.' }),
    checkout: new Checkout(directory),
    facts,
    keyPairMounts: [mount],
  });
  const planned = await planController(rest, { emit: () => {}, signal: new AbortController().signal });
  expect(planned.plan.run.slice(1)).toEqual(['serve', '--cert-dir=/state/s1/certs', '--leader-elect=false']);
  expect(planned.hardCoded).toEqual([]);
});

test("where the same Secret is also at controller-runtime's default, as OLM mounts it, the program may look there", async () => {
  const refused = join(await directoryWith({ file: '' }), 'file', 'certs');
  const usual = '/tmp/k8s-webhook-server/serving-certs';
  const planFor = (keyPairMounts: string[]) => {
    const facts = { ...goFacts(), paths: new Set([refused]) };
    const own = { checkout: new Checkout(CHECKOUT), facts };
    return plan({ settings: controllerOf({ run: ['./run', '{args}'] }), ...own, keyPairMounts });
  };
  expect((await planFor([usual, refused])).hardCoded).toEqual([refused]);
  await expect(planFor([refused])).rejects.toMatchObject({ code: 'certificate.not-written' });
});

test.each([
  ['an address', 'health-addr', ':', '--health-addr=:0'],
  ['a number', 'health-port', '', '--health-port=0'],
])(
  'a default port of health checks that is in use is another one here: %s',
  async (_, flag, colon, became) => {
    const server = createServer().listen(0);
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const directory = await directoryWith({
      'go.mod': 'module m\n',
      'main.go': 'package main\nfunc main() {}\n',
    });
    const facts = goFacts();
    facts.flags.push(definedFlag(flag, `${colon}${port}`, { directory }));
    const own = { checkout: new Checkout(directory), facts };
    const rest = inputs({ settings: controllerOf({ package: '.' }), ...own });
    const planned = await planController(rest, { emit: () => {}, signal: new AbortController().signal });
    expect(planned.plan.run.slice(1)).toEqual(['serve', became, '--leader-elect=false']);
  },
);

test.runIf(await canPlace())(
  'what the Dockerfile copies from the checkout is where the sources look for it',
  async () => {
    const root = await directoryWith({
      'go.mod': 'module m\n',
      'main.go': 'package main\n\nconst templates = "/devloop-test-templates/a.tpl"\n\nfunc main() {}\n',
      'templates/a.tpl': '',
      Dockerfile: 'FROM scratch\nCOPY templates /devloop-test-templates\nENTRYPOINT ["/manager"]\n',
    });
    const own = { checkout: new Checkout(root), facts: await checkoutFacts(new Checkout(root)) };
    const { plan: controller } = await plan({ settings: controllerOf({ package: '.' }), ...own });
    expect(controller.placed?.files).toContainEqual({
      from: join(root, 'templates'),
      to: '/devloop-test-templates',
      mayRun: true,
    });
  },
);

test('the controller gets what its image sets, and the Deployment and the shell count more', async () => {
  const events: DevloopEvent[] = [];
  const root = await directoryWith({
    'go.mod': 'module m\n',
    'main.go': 'package main\n\nconst name = "LEVEL"\n\nfunc main() {}\n',
    Dockerfile: [
      'FROM golang\nRUN go build -o /manager .\nFROM scratch\nARG version=2',
      'ENV OPERATOR_VERSION=$version LEVEL=image REGION=image\nENTRYPOINT ["/manager"]\n',
    ].join('\n'),
  });
  const settings = controllerOf({ package: '.' });
  const rest = inputs({ settings, checkout: new Checkout(root), facts: goFacts(), env: { REGION: 'shell' } });
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  const { plan: controller } = await planController(rest, io);
  expect(controller.env).toMatchObject({ OPERATOR_VERSION: '2', LEVEL: 'info', REGION: 'shell' });
  expect(events).toContainEqual(
    expect.objectContaining({
      code: 'variables.of-image',
      values: expect.objectContaining({ variables: ['OPERATOR_VERSION'] }),
    }),
  );
});

test.each<[string, string[] | undefined]>([
  [`exec /manager serve --a=$(LEVEL) --b="$LEVEL" $\{LEVEL}`, ['serve', '--a=info', '--b=info', 'info']],
  ['/manager --dir="a b"', ['--dir=a b']],
  ['exec /manager serve \\\n  --a=b \\\n  --dir="c" \\\n', ['serve', '--a=b', '--dir=c']],
  ['/manager --a=b\n/manager --c=d', undefined],
  [`/manager --a="*" --b='c; d' --e="f $LEVEL"`, ['--a=*', '--b=c; d', '--e=f info']],
  [`/manager --a='$LEVEL'`, undefined],
  ['/manager --a="$(hostname -f)"', undefined],
  [`/manager --a="don't" ; reboot "won't"`, undefined],
  ['/manager --a="b', undefined],
  ['cd /x && /manager --a', undefined],
  ['/manager --a=`hostname`', undefined],
])('the arguments in the script of a shell: %s', async (script, expected) => {
  const rest = inputs({ settings: controllerOf({ run: ['./run', '{args}'] }) });
  Object.assign(rest.target.manager!.container, { command: ['/bin/sh', '-c'], args: [script] });
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  expect((await planController(rest, io)).plan.run.slice(1)).toEqual(expected ?? []);
  expect(events.some(({ type }) => type === 'warning')).toBe(expected === undefined);
});

/** The name of a copy has a hash, so that it is the same one as long as the volume is mounted there. */
const withoutHashes = (words: string[]) =>
  words.map((word) => word.replace(/mounts\/\w+-[0-9a-f]{8}/, 'mounts/0'));

test.each<[string, { command?: string[]; args: string[] }, string[]]>([
  [
    'an init',
    { command: ['/sbin/tini', '-s', '--', '/manager', 'serve'], args: ['--a=b'] },
    ['serve', '--a=b'],
  ],
  ['an init without a separator', { command: ['dumb-init', '/manager'], args: ['--a=b'] }, ['--a=b']],
  ['the init of the image', { args: ['/usr/bin/shop-manager', '--a=b'] }, ['--a=b']],
  ['an init among the arguments', { args: ['/tini', '-e', '143', '--', '/manager', '--a=b'] }, ['--a=b']],
  ['the program, with a file', { args: ['/etc/shop.yaml', '--a=b'] }, ['/etc/shop.yaml', '--a=b']],
  ['the program, with a directory', { args: ['/app/conf', '--a=b'] }, ['/state/s1/mounts/0', '--a=b']],
  ['the program, with a subcommand', { args: ['serve', '--a=b'] }, ['serve', '--a=b']],
])('the arguments of a manager that is started by %s', async (_, words, expected) => {
  const rest = inputs({ settings: controllerOf({ run: ['./run', '{args}'] }) });
  const manager = rest.target.manager!;
  manager.object.spec.template.spec.volumes = [{ name: 'settings', emptyDir: {} }];
  const volumeMounts = [{ name: 'settings', mountPath: '/app/conf' }];
  Object.assign(manager.container, { command: undefined, volumeMounts, ...words });
  expect(withoutHashes((await plan(rest)).plan.run.slice(1))).toEqual(expected);
});

test('a variable that cannot be had is named, and so is one that is only made up', async () => {
  const cluster = fakeCluster();
  cluster.put('Node', { metadata: { name: 'node-1' } });
  const rest = { ...inputs(), api: cluster.api };
  rest.target.manager!.container.env = [
    { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'absent', key: 'token' } } },
    { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
  ];
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  const { env } = (await planController(rest, io)).plan;
  expect(env).toMatchObject({ NODE: 'node-1' });
  expect(env).not.toHaveProperty('TOKEN');
  const cause = expect.stringContaining('Secret absent');
  expect(events).toContainEqual(
    expect.objectContaining({
      code: 'variable.unknown',
      values: expect.objectContaining({ variable: 'TOKEN', cause }),
    }),
  );
  expect(events).toContainEqual(
    expect.objectContaining({
      code: 'variable.node',
      values: expect.objectContaining({ variable: 'NODE', node: 'node-1' }),
    }),
  );
});

test('a path that is relative to the working directory of the container finds its copy', async () => {
  const rest = inputs({ settings: controllerOf({ run: ['./run', '{args}'] }) });
  const manager = rest.target.manager!;
  manager.object.spec.template.spec.volumes = [{ name: 'settings', emptyDir: {} }];
  Object.assign(manager.container, {
    command: ['/manager'],
    args: ['--config=conf/a.yaml', './conf', 'other/a.yaml'],
    workingDir: '/app',
    volumeMounts: [{ name: 'settings', mountPath: '/app/conf' }],
  });
  expect(withoutHashes((await plan(rest)).plan.run.slice(1))).toEqual([
    '--config=/state/s1/mounts/0/a.yaml',
    '/state/s1/mounts/0',
    'other/a.yaml',
  ]);
  // Without one, it is usually the root.
  Object.assign(manager.container, {
    ...{ workingDir: undefined, args: ['--config=app/conf/a.yaml', 'app', '--mode=app', './app/conf'] },
    volumeMounts: [{ name: 'settings', mountPath: '/app' }],
  });
  expect(withoutHashes((await plan(rest)).plan.run.slice(1))).toEqual([
    ...['--config=/state/s1/mounts/0/conf/a.yaml', 'app', '--mode=app', '/state/s1/mounts/0/conf'],
  ]);
});

test('a flag of the program whose default leaves leader election on is added, but not that of another program', async () => {
  const directory = await directoryWith({
    'go.mod': 'module m\n',
    'main.go': 'package main\nfunc main() {}\n',
    'other/main.go': 'package main\nfunc main() {}\n',
  });
  const flags = [
    definedFlag('leader-elect', true, { directory }),
    definedFlag('leader-elect', true, { directory }),
    definedFlag('other-leader-elect', true, { directory: join(directory, 'other') }),
  ];
  const own = { checkout: new Checkout(directory), facts: { ...goFacts(), flags } };
  const rest = inputs({ settings: controllerOf({ package: '.' }), ...own });
  rest.target.manager!.container.args = [];
  const { run, added } = (await plan(rest)).plan;
  expect([run.slice(1), added]).toEqual([['serve', '--leader-elect=false'], ['--leader-elect=false']]);
  rest.target.manager!.container.args = ['--leader-elect=false'];
  const given = (await plan(rest)).plan;
  expect([given.run.slice(1), given.added]).toEqual([['serve', '--leader-elect=false'], []]);
});

test('a flag that leaves leader election on is added for the command that knows it', async () => {
  const directory = await directoryWith({
    'go.mod': 'module m\n',
    'main.go': 'package main\nfunc main() {}\n',
  });
  const flags = [definedFlag('leader-election', true, { directory, command: 'controller-service' })];
  const commandNames = new Set(['controller-service', 'webhook-service']);
  const own = { checkout: new Checkout(directory), facts: { ...goFacts(), flags, commandNames } };
  const rest = inputs({ settings: controllerOf({ package: '.' }), ...own });
  const container = rest.target.manager!.container;
  const run = async (command: string[], args: string[]): Promise<string[]> => {
    Object.assign(container, { command, args });
    return (await plan(rest)).plan.run.slice(1);
  };
  const off = '--leader-election=false';
  expect(await run(['/m'], ['controller-service'])).toEqual(['controller-service', off]);
  expect(await run(['/m'], ['webhook-service'])).toEqual(['webhook-service']);
  // A text that is not the name of a command says nothing.
  expect(await run(['/m'], ['--v=2'])).toEqual([off, '--v=2']);
  expect(await run(['/m'], ['other'])).toEqual(['other', off]);
});

test('what a program needs here precedes the shell, and the variables of the user precede both', async () => {
  const found: FoundProgram = {
    ...{ name: 'main.toy', what: 'program', source: '', chosen: [], cwd: CHECKOUT, run: ['toy', '{args}'] },
    ...{ hasWebhooks: true, rivals: [], imageFiles: [], imageVariables: { COLOUR: 'red', SIZE: 'small' } },
    preflight: async () => ({ is: 'ready' }),
    ownVariables: { PATH: '/checkout/bin:/bin', TOY: 'on' },
    argumentsIn: (words) => words.slice(1),
  };
  const language = { ...GO, program: async () => found };
  const { facts } = inputs();
  const planned = await plan({
    facts: { ...facts, language },
    settings: controllerOf({ env: { TOY: 'off' } }),
    env: { HOME: '/home/me', PATH: '/bin', COLOUR: 'blue' },
  });
  expect(planned.plan.env).toMatchObject({ HOME: '/home/me', PATH: '/checkout/bin:/bin', TOY: 'off' });
  expect(planned.plan.env).toMatchObject({ COLOUR: 'blue', SIZE: 'small' });
  expect(planned.plan.run).toEqual(['toy', '--leader-elect=false']);
});
