import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { checkoutFacts } from '../../../src/languages.ts';
import { writeNeededFiles } from '../../../src/local/mounts.ts';
import { planController } from '../../../src/local/plan.ts';
import { RULES, webhookPort } from '../../../src/local/rules.ts';
import type { Place } from '../../../src/local/settings.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { freePort } from '../../support/free-port.ts';
import { controllerOf } from '../../support/settings.ts';
import { inputs } from './support/inputs.ts';

const PROGRAM = join(import.meta.dirname, '../../fixtures/local/settings.go.txt');
/** A flag can have its value in the same word, or in the next. */
type Cell = Place | 'flag, then its value';
const CELLS: Cell[] = ['flag', 'flag, then its value', 'variable', 'file', 'default'];
let busy: Server;
let other: number;
let directory: string;

beforeAll(async () => {
  busy = createServer().listen(0);
  await once(busy, 'listening');
  other = await freePort();
  directory = await realpath(await mkdtemp(join(tmpdir(), 'devloop-rules-')));
  // Below a file, nobody can create a directory.
  await writeFile(join(directory, 'a-file'), '');
});
afterAll(async () => {
  busy.close();
  await rm(directory, { recursive: true, force: true });
});

/** A setting that works in the Pod only, and what shows that it works here: every rule has at least one. */
interface Row {
  rule: string;
  setting: string;
  inPod: () => string | number | boolean;
  /** What the program reports. */
  here: () => Record<string, unknown>;
  /** Places without such a setting, and why. */
  without?: Partial<Record<Cell, string>>;
}

const ROWS: Row[] = [
  {
    rule: 'leader election',
    setting: 'leader-elect',
    inPod: () => true,
    here: () => ({ 'leader-elect': 'false' }),
  },
  {
    rule: 'leader election',
    setting: 'leader-election',
    inPod: () => 'enabled',
    here: () => ({ 'leader-election': 'disabled' }),
  },
  {
    rule: 'webhook port',
    setting: 'webhook-port',
    inPod: () => 9443,
    here: () => ({ 'webhook-port': String(other), 'listens on webhook-port': 'yes' }),
  },
  {
    rule: 'busy port',
    setting: 'metrics-exporter-bind-address',
    inPod: () => `:${(busy.address() as AddressInfo).port}`,
    here: () => ({
      'metrics-exporter-bind-address': ':0',
      'listens on metrics-exporter-bind-address': 'yes',
    }),
  },
  {
    rule: 'mounted path',
    setting: 'cert-dir',
    inPod: () => join(directory, 'a-file/certs'),
    here: () => ({ 'read in cert-dir': 'the certificate' }),
  },
  {
    rule: 'mounted path',
    setting: 'rules-file',
    inPod: () => '/etc/shop-of-this-test/rules.txt',
    here: () => ({ 'read in rules-file': 'the rules' }),
  },
  {
    rule: 'kubeconfig',
    setting: 'kubeconfig',
    inPod: () => '/etc/pod/kubeconfig',
    here: () => ({ kubeconfig: '' }),
    without: {
      file: 'no value of a key in a file means the kubeconfig of the user',
      default: 'a default is a file of this machine, too, such as ~/.kube/config',
    },
  },
];

const isIn = (place: Cell, { without }: Row): boolean => without?.[place] === undefined;
const constantOf = (setting: string): string =>
  `default${setting.replace('-exporter-bind', '').replaceAll(/(?:^|-)(\w)/g, (_, letter) => letter.toUpperCase())}`;

/** A manager with all these settings in one place. */
async function reportedBy(place: Cell): Promise<Record<string, unknown>> {
  const rows = ROWS.filter((row) => isIn(place, row));
  const root = join(directory, place.replaceAll(/\W+/g, '-'));
  await mkdir(join(root, 'state/certs'), { recursive: true });
  await writeFile(join(root, 'state/certs/tls.crt'), 'the certificate');
  const constants = ROWS.map((row) => {
    const neutral = { boolean: false, number: 0, string: '' }[typeof row.inPod() as 'string'];
    const value = place === 'default' && isIn(place, row) ? row.inPod() : neutral;
    return `const ${constantOf(row.setting)} = ${JSON.stringify(value)}\n`;
  });
  await writeFile(join(root, 'go.mod'), 'module example.com/shop\n\ngo 1.24\n');
  await writeFile(join(root, 'main.go'), await readFile(PROGRAM));
  await writeFile(join(root, 'defaults.go'), `package main\n\n${constants.join('')}`);
  const cluster = fakeCluster();
  const config = rows.map(({ setting, inPod }) => `${setting}: ${JSON.stringify(inPod())}\n`).join('');
  for (const [name, data] of [
    ['config', { 'config.yaml': place === 'file' ? config : '' }],
    ['rules', { 'rules.txt': 'the rules' }],
  ] as const)
    cluster.put('ConfigMap', { metadata: { name, namespace: 'shop' }, data } as never);
  const all = inputs({
    api: cluster.api,
    checkout: new Checkout(root),
    facts: await checkoutFacts(new Checkout(root)),
    settings: controllerOf({ package: '.' }),
    files: { directory: join(root, 'state'), keyPairDirectory: join(root, 'state/certs') },
    keyPairMounts: [join(directory, 'a-file/certs')],
    elsewhere: async () => ({ port: other, because: 'it is in use' }),
  });
  const { container, object } = all.target.manager!;
  container.command = ['/shop'];
  container.args = rows.flatMap(({ setting, inPod }) => {
    if (place === 'flag') return [`--${setting}=${inPod()}`];
    if (place !== 'flag, then its value') return [];
    return inPod() === true ? [`--${setting}`] : [`--${setting}`, String(inPod())];
  });
  container.args.push('--config=/etc/config/config.yaml');
  container.env = rows.map(({ setting, inPod }) => ({
    name: setting.toUpperCase().replaceAll('-', '_'),
    value: place === 'variable' ? String(inPod()) : '',
  }));
  container.volumeMounts = [
    { name: 'config', mountPath: '/etc/config' },
    { name: 'rules', mountPath: '/etc/shop-of-this-test' },
  ];
  object.spec.template.spec.volumes = ['config', 'rules'].map((name) => ({ name, configMap: { name } }));
  const { plan, needed } = await planController(all, {
    emit: () => {},
    signal: new AbortController().signal,
  });
  await writeNeededFiles(needed);
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' };
  execFileSync(plan.build![0]!, plan.build!.slice(1), { cwd: plan.cwd, env, stdio: 'pipe' });
  const [program = '', ...args] = plan.run;
  const { stdout } = await promisify(execFile)(program, args, { cwd: plan.cwd, env: plan.env });
  return JSON.parse(stdout);
}

test('every rule has a row here', () => {
  const names = [...RULES, webhookPort({ from: 1, port: 2, because: '' })].map(({ name }) => name);
  expect(new Set(ROWS.map(({ rule }) => rule))).toEqual(new Set(names));
});

describe.each(CELLS)('a setting that only works in the Pod works here: %s', (place) => {
  let reported: Record<string, unknown>;
  beforeAll(async () => {
    reported = await reportedBy(place);
  }, 60_000);
  test.each(ROWS.filter((row) => isIn(place, row)))('$rule: $setting', ({ here }) => {
    expect(reported).toMatchObject(here());
  });
});
