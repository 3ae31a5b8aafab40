import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRecording } from '../../../src/reviews/recording.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { keepOutput } from '../../../src/session/control/kept-output.ts';
import { callOf, reviewOf } from '../../support/session-facts.ts';
import { BIN } from './run-bin.ts';

let checkout: string;
let env: Record<string, string>;
let client: Client;
let transport: StdioClientTransport;

beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'mcp-'));
  await mkdir(join(checkout, '.git'));
  env = {
    PATH: process.env.PATH!,
    HOME: checkout,
    XDG_STATE_HOME: join(checkout, 'state'),
    KUBECONFIG: '/none',
  };
  const args = [BIN, 'mcp'];
  transport = new StdioClientTransport({
    command: process.execPath,
    args,
    env,
    cwd: checkout,
    stderr: 'inherit',
  });
  client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
});
afterAll(async () => {
  await client.close();
  await rm(checkout, { recursive: true });
});

const call = (name: string, input: object = {}) => client.callTool({ name, arguments: { ...input } });

it('says of each tool when to use it, what it changes, and that it takes nothing else', async () => {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['start', 'stop', 'status', 'doctor', 'reviews_list', 'timeline', 'fault_add']),
  );
  for (const { name, description = '', annotations = {}, inputSchema } of tools) {
    expect(description.length, name).toBeGreaterThan(40);
    expect(annotations, name).toHaveProperty('readOnlyHint');
    expect(inputSchema, name).toHaveProperty('additionalProperties', false);
  }
  const changing = tools.filter(({ annotations }) => !annotations?.readOnlyHint).map(({ name }) => name);
  expect(changing).toEqual(
    expect.arrayContaining(['start', 'stop', 'doctor', 'fault_add', 'hold', 'reviews_verify']),
  );
  expect(client.getInstructions()).toContain('only a person starts one');
});

it.each([
  ['an unknown key', 'reviews_list', { verdicts: 'denied' }],
  ['a wrong word', 'reviews_list', { verdict: 'perhaps' }],
  ['too much', 'fault_add', { faults: Array(21).fill('409 update') }],
  ['a namespace that is none', 'reviews_list', { namespace: '../x' }],
  ['an id that is a flag', 'reviews_show', { ids: ['--help'] }],
  ['no id', 'calls_show', { ids: [] }],
  ['a wait without end', 'start', { seconds: 1e9 }],
])('refuses %s, and names it', async (_, tool, input) => {
  const result = await call(tool, input);
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(Object.keys(input)[0]!) }],
  });
});

it('an expected failure is an error of the tool with its code and the next step', async () => {
  for (const tool of ['reviews_list', 'rbac', 'hold', 'fault_list'])
    expect(await call(tool), tool).toMatchObject({
      isError: true,
      structuredContent: {
        error: {
          code: 'session.not-found',
          hint: expect.stringMatching(/(?:^|\n)Call the tool start .* ask the person .*devloop up$/),
        },
      },
    });
  expect(JSON.stringify(await call('hold'))).not.toContain('To start one: devloop up');
  expect(await call('stop')).toMatchObject({ structuredContent: { error: { code: 'session.not-found' } } });
  expect(await call('start')).toMatchObject({ structuredContent: { error: { code: 'embedded.no-assets' } } });
  expect(await call('status')).toMatchObject({
    structuredContent: { error: { code: expect.stringContaining('kubeconfig') } },
  });
  await expect(call('shell')).rejects.toThrow('shell');
});

it('answers with what the session of the checkout has recorded, cut to a size that a model can read', async () => {
  const directory = await claimDirectory(await thisMachine(env), 'abcd1234', { checkout });
  const [reviews, calls] = [createRecording(directory, 'reviews'), createRecording(directory, 'calls')];
  for (let at = 1; at <= 2_000; at++) reviews.add({ v: 1, ...reviewOf(at) });
  calls.add({
    v: 1,
    ...callOf(1),
    objectBefore: { data: 'x'.repeat(1e6) },
    objectAfter: { data: 'y'.repeat(1e6) },
  });
  await Promise.all([reviews.flush(), calls.flush()]);
  const list = await call('reviews_list', { kind: 'application' });
  expect(list.structuredContent).toMatchObject({ leftOff: { ask: expect.stringContaining('since') } });
  expect(JSON.stringify(list)).toContain('web-2000');
  const shown = await call('calls_show', { ids: ['1'] });
  expect(shown.structuredContent).toMatchObject({ leftOff: { characters: expect.any(Number) } });
  expect(JSON.stringify(shown).length).toBeLessThan(100_000);
  expect(await call('start')).toMatchObject({ structuredContent: { error: { code: 'session.held' } } });
});

it('shows the last lines of the log, without what looks secret', async () => {
  const of = { checkout, session: 'abcd1234' };
  await using kept = await keepOutput(await thisMachine(env), of, ({ type }) => expect.unreachable(type));
  for (const line of ['first', 'POSTGRES_PASSWORD=swordfish', `last\u001b[31m ${'x'.repeat(1e5)}`])
    kept.observe({ type: 'controller.output', stream: 'stderr', line });
  await kept[Symbol.asyncDispose]();
  const { structuredContent } = await call('logs', { tail: 2 });
  const line = (text: string) => ({ type: 'output.line', line: expect.stringMatching(text) });
  expect(structuredContent).toMatchObject({
    events: [line('^POSTGRES_PASSWORD=(?!swordfish)'), line('^last x')],
  });
  expect(JSON.stringify(structuredContent).length).toBeLessThan(40_000);
});

function started(): ChildProcess & { out(): string } {
  const child = spawn(process.execPath, [BIN, 'mcp'], { env, cwd: checkout });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
  return Object.assign(child, { out: () => out });
}

it.each(['SIGHUP', 'SIGTERM', 'SIGINT'] as const)('ends at %s without another word', async (signal) => {
  const child = started();
  child.stdin!.write('nonsense\n');
  await once(child.stdout!, 'data');
  child.kill(signal);
  expect(await once(child, 'exit')).toEqual([130, null]);
  expect(JSON.parse(child.out())).toMatchObject({ error: { code: -32_700 } });
});

it('answers a thousand requests at once, and ends when its client is gone', async () => {
  const child = started();
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  };
  const asked = Array.from({ length: 1_000 }, (_, id) => ({
    ...{ jsonrpc: '2.0', id: id + 1, method: 'tools/call', params: { name: 'fault_list', arguments: {} } },
  }));
  const all = [{ jsonrpc: '2.0', id: 0, method: 'initialize', params }, ...asked];
  child.stdin!.write(all.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const answers = () => child.out().split('\n').filter(Boolean);
  await expect.poll(() => answers().length, { timeout: 60_000 }).toBe(1_001);
  expect(new Set(answers().map((line) => JSON.parse(line).id)).size).toBe(1_001);
  child.stdin!.end();
  expect(await once(child, 'exit')).toEqual([0, null]);
});
