/** Bad arguments, settings, kubeconfigs, variables and files: each ends in an error with a cause and a next step, and nothing is written. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { mutated, NASTY_TEXTS, nastyText, type Outcome, run } from '../../support/bad-input.ts';
import { BAD_CLUSTERS, BAD_USERS, fullKubeconfig } from '../../support/bad-kubeconfigs.ts';
import { type FakeApiServer, fakeApiServer } from '../../support/fake-api-server.ts';
import { checkAsyncProperty, SOAK } from '../../support/repeat.ts';
import { clusterOf, SHOP } from '../../support/shop-operator.ts';

let server: FakeApiServer;
let home: string;

beforeAll(async () => {
  server = await fakeApiServer();
  server.cluster = clusterOf(SHOP);
});
afterAll(() => server?.[Symbol.asyncDispose]());

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'devloop-bad-input-'));
  write('.kube/config', JSON.stringify(server.kubeconfig));
  write('checkout/go.mod', 'module example.com/shop\n');
});
afterEach(() => {
  rmSync(home, { recursive: true });
  expect(server.writes).toEqual([]);
});

function write(name: string, content: string | Buffer): string {
  const file = join(home, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

/** Runs a command that must leave nothing on this machine. */
async function runIn(
  args: string[],
  env: Record<string, string | undefined> = {},
  rest: { cwd?: string; onlyArguments?: boolean } = {},
): Promise<Outcome> {
  const before = readdirSync(home, { recursive: true });
  const outcome = await run({
    args,
    cwd: join(home, 'checkout'),
    env: { HOME: home, PATH: '/nowhere', ...env },
    ...rest,
  });
  expect(readdirSync(home, { recursive: true })).toEqual(before);
  return outcome;
}

const WORDS = [
  ...[
    'up',
    'down',
    'status',
    'doctor',
    'certs',
    'completion',
    'help',
    'bash',
    'upp',
    '--',
    '-',
    '--help',
    '--version',
  ],
  ...[
    '--json',
    '--quiet',
    '-q',
    '--verbose',
    '-v',
    '--context',
    '--kubeconfig',
    '-n',
    '--namespace',
    '--service',
  ],
  ...[
    '--deployment',
    '--route',
    '--address',
    '--port',
    '--allow-from',
    '--relay-image',
    '--pause',
    '--no-controller',
  ],
  ...[
    '--take-over',
    '--dry-run',
    '--watch',
    '--output',
    '-nx',
    '--port=',
    '--port=x',
    '--no-json',
    '--routee',
    '-abc',
  ],
  ...['direct', 'relay', 'ssh:x', 'ssh:', 'lease', 'none', '1.2.3.4', '10.0.0.0/8', '9443', 'shop/webhook'],
];

it('arguments', async () => {
  const word = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...WORDS) }, nastyText);
  let refused = 0;
  await checkAsyncProperty(
    'bad input: arguments',
    { soak: 1_000, quick: 100, examples: NASTY_TEXTS.map((text) => ['up', '--service', text]) },
    fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (args) => {
      const { error } = await run({ args, cwd: home, env: { HOME: home }, onlyArguments: true });
      if (error === undefined) return;
      refused += 1;
      expect(error.code).toBe('usage.invalid');
    }),
  );
  expect(refused).toBeGreaterThan(0);
});

const SETTINGS = {
  context: 'fake',
  namespace: 'shop',
  service: ['shop/webhook'],
  deployment: 'shop/manager',
  route: { ssh: 'dev@bastion:22' },
  address: '192.0.2.1',
  port: 9443,
  allowFrom: ['10.0.0.0/8'],
  relayImage: 'registry.example.com/node:24',
  pause: 'lease',
  certificates: { secret: 'shop/cert', directory: './certs' },
  controller: { build: ['make'], run: ['./manager', '-v'], env: { A: 'b' }, watch: ['src'], readySeconds: 5 },
};

it('devloop.yaml', async () => {
  await checkAsyncProperty(
    'bad input: devloop.yaml',
    { soak: 300, quick: 5 },
    fc.asyncProperty(mutated(SETTINGS), async (settings) => {
      write('checkout/devloop.yaml', JSON.stringify(settings));
      await runIn(['up', '--dry-run']);
    }),
  );
});

it('kubeconfigs', async () => {
  const base = fullKubeconfig(server.url);
  const withEntries = (cluster: object, user: object): unknown => ({
    ...base,
    clusters: [{ name: 'fake', cluster }],
    users: [{ name: 'fake', user }],
  });
  const reachable = { server: server.url };
  const configs: unknown[] = [
    ...BAD_USERS.flatMap((user) => [
      withEntries(reachable, user),
      withEntries({ server: 'https://127.0.0.1:1' }, user),
    ]),
    ...BAD_CLUSTERS.map((cluster) => withEntries(cluster, { token: 'x' })),
    ...[null, 7, 'x', [], {}, { contexts: null }, { contexts: [null] }, { clusters: {} }, { users: 'x' }],
    { ...base, contexts: [null, ...base.contexts] },
    { ...base, clusters: [null] },
    { ...base, users: [null] },
    { ...base, users: [{ name: 'fake' }] },
    { ...base, clusters: [{ name: 'fake' }] },
    { ...base, contexts: [{ name: 'fake' }] },
    { ...base, contexts: [{ name: 'fake', context: {} }] },
    { ...base, contexts: [{ name: 'fake', context: { cluster: 'fake', user: { not: 'text' } } }] },
    { ...base, 'current-context': ['fake'] },
  ];
  const byHand = configs.map((config) => ({ config, named: [] as string[] }));
  const made = fc.record({ config: mutated(base), named: fc.constantFrom([], ['--context', 'other']) });
  await checkAsyncProperty(
    'bad input: kubeconfig',
    { soak: 400, quick: 10, examples: SOAK ? byHand : [] },
    fc.asyncProperty(fc.oneof(made, fc.constantFrom(...byHand)), async ({ config, named }) => {
      write('.kube/config', JSON.stringify(config));
      await runIn(['status', ...named]);
    }),
  );
});

it('the text of a kubeconfig', async () => {
  const text = JSON.stringify(fullKubeconfig(server.url), null, 1);
  const cut = fc.record({ at: fc.nat(text.length), length: fc.nat(40), put: nastyText });
  await checkAsyncProperty(
    'bad input: text of a kubeconfig',
    { soak: 200, quick: 5 },
    fc.asyncProperty(cut, async ({ at, length, put }) => {
      write('.kube/config', text.slice(0, at) + put + text.slice(at + length));
      await runIn(['status']);
    }),
  );
});

it('variables', async () => {
  const names = [
    'HOME',
    'KUBECONFIG',
    'DEVLOOP_CONTEXT',
    'DEVLOOP_NAMESPACE',
    'XDG_STATE_HOME',
    'XDG_CACHE_HOME',
    'USER',
    'PATH',
  ];
  const one = fc.oneof(
    nastyText,
    fc.constant(undefined),
    fc.constantFrom('/', '/dev/null', `${home}/.kube`, `${home}/.kube/config/x`),
  );
  const value = fc.tuple(fc.constantFrom(...names), one);
  const command = fc.constantFrom<string[]>(['status'], ['up', '--dry-run'], ['down', '--dry-run']);
  const input = fc.record({ command, values: fc.array(value, { minLength: 1, maxLength: 3 }) });
  await checkAsyncProperty(
    'bad input: variables',
    { soak: 200, quick: 5 },
    fc.asyncProperty(input, async ({ command: args, values }) => {
      await runIn(args, Object.fromEntries(values));
    }),
  );
});

/** Each of these creates something odd at a path. */
const ODD: Record<string, (path: string) => void> = {
  'a directory': (path) => mkdirSync(path),
  'a link to itself': (path) => symlinkSync(path, path),
  'a link to nothing': (path) => symlinkSync('/nowhere/at/all', path),
  'a link to a device': (path) => symlinkSync('/dev/zero', path),
  'a named pipe': (path) => void spawnSync('mkfifo', [path]),
  'an empty file': (path) => writeFileSync(path, ''),
  zeros: (path) => writeFileSync(path, Buffer.alloc(4096)),
  'not UTF-8': (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0x00, 0xd8])),
  'much text': (path) => writeFileSync(path, 'a: b\n'.repeat(100_000)),
};
const PLACES = [
  ...[
    'checkout/devloop.yaml',
    'checkout/go.mod',
    'checkout/PROJECT',
    'checkout/main.go',
    'checkout/.git',
    'checkout/config',
  ],
  ...['.kube/config', '.local', '.local/state', '.local/state/devloop', '.cache'],
];

it('files and directories that are something else', async () => {
  const cases = PLACES.flatMap((place) => Object.keys(ODD).map((kind) => ({ place, kind })))
    // devloop reads what the user names, as kubectl does; the go tool waits for such sources.
    .filter(({ place, kind }) => !(/config|main/.test(place) && /pipe|device/.test(kind)));
  await checkAsyncProperty(
    'bad input: files and directories',
    { soak: 0, quick: 6, examples: SOAK ? cases : [] },
    fc.asyncProperty(fc.constantFrom(...cases), async ({ place, kind }) => {
      const path = join(home, place);
      rmSync(path, { recursive: true, force: true });
      mkdirSync(dirname(path), { recursive: true });
      ODD[kind]!(path);
      await runIn(['up', '--dry-run']);
      await runIn(['down', '--dry-run']);
      await runIn(['status']);
      rmSync(path, { recursive: true, force: true });
      for (const again of ['.kube', '.local', '.cache', 'checkout'])
        rmSync(join(home, again), { recursive: true, force: true });
      write('.kube/config', JSON.stringify(server.kubeconfig));
      write('checkout/go.mod', 'module example.com/shop\n');
    }),
  );
});

it('what a session that crashed left on this machine', async () => {
  const owner = { host: 'elsewhere', pid: 1, processStart: 'boot/1/2' };
  const record = { pid: process.pid, startTime: 'boot/1/2', command: ['sleep'] };
  const input = fc.record({
    'devloop.json': fc.oneof(mutated(owner), fc.constantFrom<unknown>(null, 7, 'x', [], {})),
    'controller.json': fc.oneof(
      mutated(record),
      fc.constantFrom<unknown>(null, { ...record, pid: -1 }, { ...record, pid: 0 }),
    ),
    'key-pairs.json': fc.oneof(
      mutated(['/nowhere']),
      fc.constantFrom<unknown>(null, '/', ['/'], [home], ['../..']),
    ),
  });
  await checkAsyncProperty(
    'bad input: state of a crashed session',
    { soak: 200, quick: 5 },
    fc.asyncProperty(input, async (files) => {
      for (const [name, content] of Object.entries(files))
        write(`.local/state/devloop/s1/${name}`, JSON.stringify(content));
      const { error } = await run({ args: ['down'], cwd: join(home, 'checkout'), env: { HOME: home } });
      expect(error).toBeUndefined();
      expect(readdirSync(home).sort()).toEqual(['.kube', '.local', 'checkout']);
    }),
  );
});
