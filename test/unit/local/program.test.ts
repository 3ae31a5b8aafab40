import { expect, test } from 'vitest';
import { planProgram } from '../../../src/local/program.ts';

test.each([
  ['after --', { command: ['cargo', 'run'] }],
  ['in devloop.yaml', { settings: { run: ['cargo', 'run'] } }],
])('a command %s is not debugged by devloop, which does not build it', async (_, named) => {
  const inputs = {
    ...{ target: { services: [], namespace: 'x' }, root: '/', directory: '/', settings: {} },
    ...{ kubeconfigFlags: new Set<string>(), electionFlags: new Map(), forDebugger: true, ...named },
  };
  const io = { emit: () => {}, signal: new AbortController().signal };
  await expect(planProgram(inputs, io)).rejects.toMatchObject({
    code: 'usage.invalid',
    message: expect.stringContaining('cargo run'),
    hint: expect.stringContaining('guide.md'),
  });
});
