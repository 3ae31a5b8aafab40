import { expect, test } from 'vitest';
import { linkedPackages } from '../../../src/controller/go/linked-packages.ts';
import { planController } from '../../../src/local/plan.ts';
import { moveWebhookPort } from '../../../src/local/webhook-port.ts';
import { collectAddressFlags } from '../../../src/operator/address-flags.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { recordEvents } from '../controller/support/events.ts';
import { directoryWith } from '../controller/support/places.ts';
import { inputs } from './support/inputs.ts';

const MOVE = { from: 9443, port: 40123, because: 'it is in use' };
const NO_FLAGS = { defaults: [], constants: new Map(), commands: [] };

async function move(words: string[], variables: Record<string, string> = {}, known = {}, text?: string) {
  const args = words.map((word) => ({ value: word, shown: word }));
  const { all, emit } = recordEvents();
  const facts = { secrets: new Set<string>(), addressFlags: NO_FLAGS, ...known };
  const files = new Map(text === undefined ? [] : [['/state/config.yaml', text]]);
  const moved = await moveWebhookPort({ args, variables, files }, MOVE, facts, { emit });
  const notes = all('note').map(({ message }) => message);
  const [file] = moved?.files.values() ?? [];
  return moved && { words: moved.args.map(({ value }) => value), variables: moved.variables, notes, file };
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

test('variables and flags that both name it are changed, and a note says each', async () => {
  expect(await move(['--webhook-port=9443'], { WEBHOOK_PORT: '9443', PORT: '9443' })).toEqual({
    words: ['--webhook-port=40123'],
    variables: { WEBHOOK_PORT: '40123', PORT: '9443' },
    notes: [
      '--webhook-port=9443\nbecomes --webhook-port=40123: it is in use',
      'WEBHOOK_PORT=9443\nbecomes WEBHOOK_PORT=40123: it is in use',
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

test('an argument and a file that both name it are changed, and a note says each', async () => {
  expect(await move(['--webhook-port=9443'], {}, {}, 'webhook: {port: 9443}\n')).toMatchObject({
    words: ['--webhook-port=40123'],
    file: 'webhook: {port: 40123}\n',
    notes: [
      '--webhook-port=9443\nbecomes --webhook-port=40123: it is in use',
      'webhook.port: 9443 (config.yaml)\nbecomes webhook.port: 40123 in the local copy: it is in use',
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
  const of = (where: string) => {
    const addressFlags = { defaults: [], constants: new Map(), commands: [] };
    collectAddressFlags(main, where, addressFlags);
    return { addressFlags, linked };
  };
  expect(await move(['serve'], {}, of(directory))).toMatchObject({
    words: ['serve', '--webhook-port=40123'],
    notes: ['--webhook-port=40123\nis added: it is in use'],
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
  const all = inputs({ api: cluster.api, settings: { run: ['./run', '{args}'] }, elsewhere });
  const { container, object } = all.target.manager!;
  container.args!.push('--config=/etc/shop/config.yaml');
  container.volumeMounts = [{ name: 'settings', mountPath: '/etc/shop' }];
  object.spec.template.spec.volumes = [{ name: 'settings', configMap: { name: 'settings' } }];
  const { emit } = recordEvents();
  const { plan, needed } = await planController(all, { emit, signal: new AbortController().signal });
  expect(plan.webhook?.port).toBe(40123);
  expect(needed).toMatchObject([{ files: { 'config.yaml': 'webhook: {port: 40123}\n' } }]);
});
