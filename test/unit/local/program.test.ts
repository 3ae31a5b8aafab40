import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { GO } from '../../../src/checkout/go/go.ts';
import type { FoundProgram, Language } from '../../../src/checkout/language.ts';
import { planProgram } from '../../../src/local/program.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { controllerOf } from '../../support/settings.ts';
import { directoryWith } from '../controller/support/places.ts';

test.each([
  ['after --', { settings: { run: ['cargo', 'run'], isNamedByFlag: true } }],
  ['in devloop.yaml', { settings: controllerOf({ run: ['cargo', 'run'] }) }],
])('a command %s is not debugged by devloop, which does not build it', async (_, named) => {
  const inputs = {
    ...{
      target: { services: [], namespace: 'x' },
      checkout: new Checkout('/'),
      directory: '/',
      settings: {},
    },
    ...{ flags: [], language: GO, forDebugger: 'all' as const, ...named },
  };
  const io = { emit: () => {}, signal: new AbortController().signal };
  await expect(planProgram(inputs, io)).rejects.toMatchObject({
    code: 'usage.invalid',
    message: expect.stringContaining('cargo run'),
    hint: expect.stringContaining('guide.md'),
  });
});

const MANAGER = 'package main\n\nimport _ "k8s.io/client-go/informers"\n\nfunc main() {}\n';

test.each<[string, Record<string, string>, boolean]>([
  ['asks for a restart', { 'cmd/a/main.go': MANAGER }, true],
  [
    'is not the manager where another program could be it',
    { 'cmd/a/main.go': MANAGER, 'cmd/b/main.go': MANAGER, Makefile: 'b:\n\tgo build -o a ./cmd/a\n' },
    false,
  ],
  [
    'asks for a restart if it is built from the webhooks, whatever else there is',
    { 'cmd/a/main.go': `${MANAGER}\nconst path = "/hook"\n`, 'cmd/b/main.go': MANAGER },
    true,
  ],
])('a program that ends with code 0 %s', async (_, files, asksForRestart) => {
  const root = await directoryWith({ 'go.mod': 'module example.com/shop\n\ngo 1.24\n', ...files });
  const from = { kind: 'ValidatingWebhookConfiguration', name: 'a' } as const;
  const call = { from, name: 'v', path: '/hook', port: 443, caBundle: '', groups: [] };
  const service = {
    service: { metadata: { name: 'hook' }, spec: {} },
    serverName: '',
    ports: [],
    source: '',
  };
  const inputs = {
    ...{
      target: { services: [{ ...service, calls: [call] }], namespace: 'x' },
      checkout: new Checkout(root),
      settings: {},
    },
    ...{ directory: '/state', flags: [], language: GO },
  };
  const planned = await planProgram(inputs, { emit: () => {}, signal: new AbortController().signal });
  expect(planned).toMatchObject({ build: expect.arrayContaining(['./cmd/a']), asksForRestart });
});

test('the program of a module below the root is named as --package names it', async () => {
  const root = await directoryWith({
    'operator/go.mod': 'module example.com/operator\n\ngo 1.24\n',
    'operator/main.go': MANAGER,
  });
  const events: DevloopEvent[] = [];
  const inputs = {
    ...{
      target: { services: [], namespace: 'x' },
      checkout: new Checkout(root),
      settings: {},
      directory: '/state',
    },
    ...{ flags: [], language: GO },
  };
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  expect(await planProgram(inputs, io)).toMatchObject({ build: expect.arrayContaining(['.']) });
  expect(events).toContainEqual(expect.objectContaining({ what: 'main package', value: './operator' }));
});

test.each<[string, string[], string]>([
  ['is the first argument', ['/registration', 'serve'], './cmd/registration'],
  ["is the image's", ['serve', '/registration'], './cmd/placement'],
])('of several main packages, the one is built whose program %s', async (_, args, expected) => {
  const root = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'cmd/placement/main.go': MANAGER,
    'cmd/registration/main.go': MANAGER,
  });
  const container = { name: 'manager', image: 'example.com/placement:v1', args };
  const metadata = { name: 'shop', namespace: 'shop' };
  const object = { metadata, spec: { selector: {}, template: { spec: { containers: [container] } } } };
  const manager = { ref: { kind: 'Deployment' as const, ...metadata }, object, container, source: '' };
  const inputs = {
    ...{
      target: { services: [], manager, namespace: 'shop' },
      checkout: new Checkout(root),
      settings: {},
      directory: '/state',
    },
    ...{ flags: [], language: GO },
  };
  const planned = await planProgram(inputs, { emit: () => {}, signal: new AbortController().signal });
  expect(planned.build).toContain(expected);
});

test('the words that stand for the arguments are no part of another word', async () => {
  const inputs = {
    ...{ target: { services: [], namespace: 'x' }, checkout: new Checkout('/'), directory: '/state' },
    ...{
      flags: [],
      language: GO,
      settings: { run: ['sh', '-c', 'exec node a.mjs {args}'] },
    },
  };
  const io = { emit: () => {}, signal: new AbortController().signal };
  await expect(planProgram(inputs, io)).rejects.toMatchObject({
    code: 'usage.invalid',
    message: expect.stringContaining('`exec node a.mjs {args}`'),
    hint: expect.stringContaining('"$@"'),
  });
  const whole = {
    ...inputs,
    settings: controllerOf({ run: ['sh', '-c', 'exec node a.mjs "$@"', 'sh', '{args}'] }),
  };
  expect((await planProgram(whole, io)).run).toEqual(whole.settings.run);
});

test.each([
  ['names the program', ['cc', '-o', 'bin/shop', 'main.c'], 2],
  ['names another file', ['cc', '-o', 'main.o', 'main.c'], undefined],
  ['is not there', ['make'], undefined],
])(
  'each build of the own command makes a new file if -o names the program: it %s',
  async (_, build, output) => {
    const inputs = {
      ...{ target: { services: [], namespace: 'x' }, checkout: new Checkout('/'), directory: '/state' },
      ...{ flags: [], language: undefined },
      settings: { build, run: ['bin/shop'] },
    };
    const io = { emit: () => {}, signal: new AbortController().signal };
    expect(await planProgram(inputs, io)).toMatchObject({ is: 'command', build, output });
  },
);

test('a path to watch that does not exist is named; a glob may match nothing yet', async () => {
  const root = await directoryWith({ 'src/main.py': '' });
  const events: DevloopEvent[] = [];
  const settings = { run: ['python3', 'src/main.py'], watch: ['src', 'missing', 'src/*.rs', 'none/**/*.py'] };
  const inputs = {
    ...{
      target: { services: [], namespace: 'x' },
      checkout: new Checkout(root),
      directory: '/state',
      settings,
    },
    ...{ flags: [], language: GO },
  };
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  await planProgram(inputs, io);
  expect(events.filter(({ type }) => type === 'warning')).toMatchObject([
    { code: 'watch.missing', values: { path: 'missing' } },
    { code: 'watch.missing', values: { path: 'none/**/*.py' } },
  ]);
});

const TOY: FoundProgram = {
  ...{
    name: 'main.toy',
    what: 'program',
    source: 'the only one',
    chosen: [],
    cwd: '/',
    run: ['toy', '{args}'],
  },
  ...{ hasWebhooks: false, rivals: [], imageFiles: [], imageVariables: {} },
  preflight: async () => ({ is: 'broken', problem: 'toys is not installed.', hint: 'toy install' }),
};

test('what a program without a build tool lacks is reported before anything changes', async () => {
  const { tool, ...withoutTool } = GO;
  const language: Language = { ...withoutTool, program: async () => TOY };
  const inputs = {
    ...{
      target: { services: [], namespace: 'x' },
      checkout: new Checkout('/'),
      directory: '/',
      settings: {},
    },
    ...{ flags: [], language },
  };
  const io = { emit: () => {}, signal: new AbortController().signal };
  await expect(planProgram(inputs, io)).rejects.toMatchObject({
    code: 'controller.no-toolchain',
    message: expect.stringContaining('toys is not installed.'),
    hint: 'toy install',
  });
  const built = { ...inputs, language: { ...language, ...(tool && { tool }) } };
  expect(await planProgram(built, io)).toMatchObject({ run: TOY.run });
});

test('the build adds what tags the API calls only if that is asked for', async () => {
  const root = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n\nrequire sigs.k8s.io/controller-runtime v0.24.1\n',
    'main.go': MANAGER,
  });
  const io = { emit: () => {}, signal: new AbortController().signal };
  const inputs = {
    ...{
      target: { services: [], namespace: 'x' },
      checkout: new Checkout(root),
      settings: {},
      directory: '/state',
    },
    ...{ flags: [], language: GO, isBuilt: true },
  };
  const overlay = expect.stringMatching(/^-overlay=/);
  const { build } = await planProgram({ ...inputs, callTags: join(root, 'kept') }, io);
  expect(build).toEqual(expect.arrayContaining([overlay]));
  expect((await planProgram(inputs, io)).build).not.toEqual(expect.arrayContaining([overlay]));
});
