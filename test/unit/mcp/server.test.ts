import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serveMcp } from '../../../src/mcp/server.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'devloop-mcp-'));
});
afterEach(async () => await rm(cwd, { recursive: true }));

interface Answer {
  tools: { name: string; annotations: object; description: string; inputSchema: { properties: object } }[];
  structuredContent: { error?: object };
}

/** A server without a client's library: what it answers to one request. */
async function serving() {
  const env = { ...process.env, XDG_STATE_HOME: join(cwd, 'state'), KUBECONFIG: join(cwd, 'none') };
  const stdin = new PassThrough();
  const answers = new Map<number, (answer: Answer) => void>();
  const write = (text: string): void => {
    const { id, result } = JSON.parse(text);
    answers.get(id)?.(result);
  };
  const served = serveMcp(
    { version: '1', program: ['false'], stdio: { stdin, write }, complete: (event) => event },
    { env, cwd, emit: () => {}, signal: new AbortController().signal },
  );
  const send = (message: object): void =>
    void stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = (method: string, params: object = {}): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const id = answers.size;
    answers.set(id, resolve);
    send({ id, method, params });
    return promise;
  };
  const client = { name: 'test', version: '1' };
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: client });
  send({ method: 'notifications/initialized' });
  return {
    env,
    ask,
    async [Symbol.asyncDispose]() {
      stdin.end();
      await served;
    },
  };
}

test('tools that run code of the checkout say so, and doctor takes no other cluster', async () => {
  await using server = await serving();
  const { tools } = await server.ask('tools/list');
  const running = tools.filter(({ name }) => ['start', 'restart', 'reviews_verify', 'doctor'].includes(name));
  expect(running).toHaveLength(4);
  for (const { annotations } of running)
    expect(annotations).toEqual({ readOnlyHint: false, destructiveHint: true, openWorldHint: true });
  for (const { name, description } of running)
    if (name !== 'doctor') expect(description).toContain('runs code of this checkout');
  const doctor = tools.find(({ name }) => name === 'doctor');
  expect(Object.keys(doctor!.inputSchema.properties)).toEqual(['namespace']);
});

test('an agent neither reaches nor learns of the session of another checkout', async () => {
  await using server = await serving();
  const machine = await thisMachine(server.env);
  await claimDirectory(machine, 'aaaaaaaa', { checkout: '/src/elsewhere' });
  for (const name of ['fault_list', 'logs', 'reviews_list', 'calls_list', 'wait', 'restart', 'hold']) {
    for (const input of [{}, { session: 'aaaaaaaa' }]) {
      const { structuredContent } = await server.ask('tools/call', { name, arguments: input });
      expect(structuredContent.error, name).toMatchObject({ code: 'session.not-found' });
      expect(JSON.stringify(structuredContent)).not.toContain('elsewhere');
    }
  }
});
