import { expect, test } from 'vitest';
import { planProgram } from '../../../src/local/program.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { directoryWith } from '../controller/support/places.ts';

test.each([
  ['after --', { command: ['cargo', 'run'] }],
  ['in devloop.yaml', { settings: { run: ['cargo', 'run'] } }],
])('a command %s is not debugged by devloop, which does not build it', async (_, named) => {
  const inputs = {
    ...{ target: { services: [], namespace: 'x' }, root: '/', directory: '/', settings: {} },
    ...{ kubeconfigFlags: [], electionFlags: [], forDebugger: 'all' as const, ...named },
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
    ...{ target: { services: [{ ...service, calls: [call] }], namespace: 'x' }, root, settings: {} },
    ...{ directory: '/state', kubeconfigFlags: [], electionFlags: [] },
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
    ...{ target: { services: [], namespace: 'x' }, root, settings: {}, directory: '/state' },
    ...{ kubeconfigFlags: [], electionFlags: [] },
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
    ...{ target: { services: [], manager, namespace: 'shop' }, root, settings: {}, directory: '/state' },
    ...{ kubeconfigFlags: [], electionFlags: [] },
  };
  const planned = await planProgram(inputs, { emit: () => {}, signal: new AbortController().signal });
  expect(planned.build).toContain(expected);
});

test('the words that stand for the arguments are no part of another word', async () => {
  const inputs = {
    ...{ target: { services: [], namespace: 'x' }, root: '/', directory: '/state' },
    ...{ kubeconfigFlags: [], electionFlags: [], settings: { run: ['sh', '-c', 'exec node a.mjs {args}'] } },
  };
  const io = { emit: () => {}, signal: new AbortController().signal };
  await expect(planProgram(inputs, io)).rejects.toMatchObject({
    code: 'usage.invalid',
    message: '{args} in `exec node a.mjs {args}` is only part of a word, but it stands for several words.',
    hint: expect.stringContaining('"$@"'),
  });
  const whole = { ...inputs, settings: { run: ['sh', '-c', 'exec node a.mjs "$@"', 'sh', '{args}'] } };
  expect((await planProgram(whole, io)).run).toEqual(whole.settings.run);
});

test('a path to watch that does not exist is named; a glob may match nothing yet', async () => {
  const root = await directoryWith({ 'src/main.py': '' });
  const events: DevloopEvent[] = [];
  const settings = { run: ['python3', 'src/main.py'], watch: ['src', 'missing', 'src/*.rs', 'none/**/*.py'] };
  const inputs = {
    ...{ target: { services: [], namespace: 'x' }, root, directory: '/state', settings },
    ...{ kubeconfigFlags: [], electionFlags: [] },
  };
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  await planProgram(inputs, io);
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  expect(warnings).toEqual([expect.stringContaining(' missing,'), expect.stringContaining(' none/**/*.py,')]);
});
