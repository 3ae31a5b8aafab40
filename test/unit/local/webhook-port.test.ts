import { join } from 'node:path';
import { expect, test } from 'vitest';
import { definedFlags } from '../../../src/checkout/go/flags.ts';
import { linkedPackages } from '../../../src/checkout/go/linked-packages.ts';
import { goReader } from '../../../src/checkout/go/reader/parser.ts';
import { goSource, goSources } from '../../../src/checkout/go/sources.ts';
import { defaultFlags } from '../../../src/local/default-settings.ts';
import { planController } from '../../../src/local/plan.ts';
import { webhookPort } from '../../../src/local/rules.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { controllerOf } from '../../support/settings.ts';
import { recordEvents } from '../controller/support/events.ts';
import { directoryWith } from '../controller/support/places.ts';
import { inputs } from './support/inputs.ts';
import { madeLocal } from './support/made-local.ts';

const MOVE = { from: 9443, port: 40123, because: 'it is in use' };
async function move(words: string[], variables: Record<string, string> = {}, known = {}, text?: string) {
  const start = { args: words, variables, ...(text !== undefined && { text }) };
  const made = await madeLocal(start, {}, { rules: [webhookPort(MOVE)], ...known });
  if (made.changes.length === 0) return undefined;
  const changed = made.changes.map(({ setting }) => [setting.in, setting.name]);
  return { words: made.args, variables: made.variables, changed, file: made.text };
}

test.each<[string, string[], string[]]>([
  ['a flag', ['serve', '--webhook-port=9443', '--v=2'], ['serve', '--webhook-port=40123', '--v=2']],
  ['a flag and its value', ['--webhook-bind-address', ':9443'], ['--webhook-bind-address', ':40123']],
  ['a flag that alone has the number', ['--secure-port=9443'], ['--secure-port=40123']],
  ['an address', ['-listen=0.0.0.0:9443'], ['-listen=0.0.0.0:40123']],
  ['one of two, by its name', ['--port=9443', '--webhookPort=9443'], ['--port=9443', '--webhookPort=40123']],
])('the webhooks get another port: %s', async (_, words, expected) => {
  expect((await move(words))?.words).toEqual(expected);
});

test('variables and flags that both name it are changed', async () => {
  expect(await move(['--webhook-port=9443'], { WEBHOOK_PORT: '9443', PORT: '9443' })).toEqual({
    words: ['--webhook-port=40123'],
    variables: { WEBHOOK_PORT: '40123', PORT: '9443' },
    changed: [
      ['flag', '--webhook-port'],
      ['variable', 'WEBHOOK_PORT'],
    ],
  });
});

test.each<[string, string, string]>([
  ['a component configuration', 'webhook:\n  port: 9443 # here\n', 'webhook:\n  port: 40123 # here\n'],
  ['JSON', '{"webhookBindAddress": ":9443"}', '{"webhookBindAddress": ":40123"}'],
  ['TOML', '[admission]\nport = 9443\n', '[admission]\nport = 40123\n'],
  ['one that alone has the number', 'a: 1\nserver: {port: "9443"}\n', 'a: 1\nserver: {port: "40123"}\n'],
  [
    'one of several, by its name',
    'service: {port: 9443}\nserver: {port: 9443}\nwebhook: {port: 9443}\n',
    'service: {port: 9443}\nserver: {port: 9443}\nwebhook: {port: 40123}\n',
  ],
])('a mounted file names the port: %s', async (_, text, expected) => {
  expect((await move([], {}, {}, text))?.file).toBe(expected);
});

test('an argument and a file that both name it are changed', async () => {
  expect(await move(['--webhook-port=9443'], {}, {}, 'webhook: {port: 9443}\n')).toMatchObject({
    words: ['--webhook-port=40123'],
    file: 'webhook: {port: 40123}\n',
    changed: [
      ['flag', '--webhook-port'],
      ['file', 'webhook.port'],
    ],
  });
});

test.each<[string, string]>([
  ['of a Service', 'service:\n  port: 9443\n'],
  ['of a container', 'ports:\n- containerPort: 9443\n'],
  ['that two settings have', 'server: {port: 9443}\nlisten: 9443\n'],
])('a file stays with a port %s', async (_, text) => {
  expect(await move([], {}, {}, text)).toBeUndefined();
});

test.each<[string, string[], Record<string, string>]>([
  ['nothing names it', ['--leader-elect'], {}],
  ['it is another number', ['--webhook-port=9444'], {}],
  ['it is where others find the webhooks', [], { WEBHOOK_SERVICE_PORT: '9443' }],
  ['it is not of this machine', ['--webhook-address=shop.example.com:9443'], {}],
  ['two could be it', ['--port=9443'], { LISTEN_PORT: '9443' }],
  ['it is no port', ['--shards=9443'], {}],
])('nothing is changed where %s', async (_, words, variables) => {
  expect(await move(words, variables)).toBeUndefined();
});

test('a variable from a Secret stays', async () => {
  expect(await move([], { WEBHOOK_PORT: '9443' }, { secrets: new Set(['WEBHOOK_PORT']) })).toBeUndefined();
});

test("a flag's default is written out, unless the flag is given or of another program", async () => {
  const main =
    'package main\n\nimport "flag"\n\nfunc main() {\n\tflag.Int("webhook-port", 9443, "")\n\tflag.Parse()\n}\n';
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'main.go': main,
  });
  const linked = linkedPackages({ directory, goPackage: '.', flags: [] });
  const reader = await goReader();
  const of = (where: string) => {
    const sources = goSources([goSource(join(where, 'main.go'), reader.file(main))], []);
    const flags = definedFlags(sources);
    const facts = { flags, commands: [], electionFlags: [], commandNames: new Set<string>(), linked };
    return { defaults: defaultFlags(facts) };
  };
  expect(await move(['serve'], {}, of(directory))).toMatchObject({
    words: ['serve', '--webhook-port=40123'],
    changed: [['default', '--webhook-port']],
  });
  expect(await move(['--webhook-port=9444'], {}, of(directory))).toBeUndefined();
  expect(await move([], {}, of('/elsewhere'))).toBeUndefined();
});

test('the plan has the port that the settings name, and that of the Pod where none does', async () => {
  const planned = async (name: string) => {
    const all = inputs({ elsewhere: async () => ({ port: 40123, because: 'it is in use' }) });
    all.target.manager!.container.env!.push({ name, value: '9443' });
    const { emit } = recordEvents();
    const { plan } = await planController(all, { emit, signal: new AbortController().signal });
    return [plan.webhook?.port, plan.env[name]];
  };
  expect(await planned('WEBHOOK_PORT')).toEqual([40123, '40123']);
  expect(await planned('WEBHOOKS')).toEqual([9443, '9443']);
});

test('each port of a manager with several gets another one, as far as something names it', async () => {
  const all = inputs({ elsewhere: async (port) => ({ port: port + 30_000, because: 'it is in use' }) });
  all.target.manager!.container.env!.push(
    { name: 'WEBHOOK_PORT', value: '9443' },
    { name: 'CONVERSION_PORT', value: '9444' },
  );
  const port = (targetPort: number) => ({ name: '', port: targetPort, targetPort });
  all.target.services[0]!.ports = [port(9443), port(9444), port(9445)];
  const { emit } = recordEvents();
  const { plan, moved } = await planController(all, { emit, signal: new AbortController().signal });
  expect([...moved]).toEqual([
    [9443, 39443],
    [9444, 39444],
  ]);
  expect(plan.webhook?.port).toBe(39443);
  expect([plan.env.WEBHOOK_PORT, plan.env.CONVERSION_PORT]).toEqual(['39443', '39444']);
});

test('a port in a mounted file is another one in the copy that is written', async () => {
  const cluster = fakeCluster();
  const data = { 'config.yaml': 'webhook: {port: 9443}\n' };
  cluster.put('ConfigMap', { metadata: { name: 'settings', namespace: 'shop' }, data } as never);
  const elsewhere = async () => ({ port: 40123, because: 'it is in use' });
  const all = inputs({ api: cluster.api, settings: controllerOf({ run: ['./run', '{args}'] }), elsewhere });
  const { container, object } = all.target.manager!;
  container.args!.push('--config=/etc/shop/config.yaml');
  container.volumeMounts = [{ name: 'settings', mountPath: '/etc/shop' }];
  object.spec.template.spec.volumes = [{ name: 'settings', configMap: { name: 'settings' } }];
  const { emit } = recordEvents();
  const { plan, needed } = await planController(all, { emit, signal: new AbortController().signal });
  expect(plan.webhook?.port).toBe(40123);
  expect(needed).toMatchObject([{ files: { 'config.yaml': 'webhook: {port: 40123}\n' } }]);
});
