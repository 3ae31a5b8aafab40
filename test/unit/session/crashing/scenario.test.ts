import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createScenario, resetFor } from '../../../../src/session/crashing/scenario.ts';

test.each([
  ['kubectl apply -f shop.yaml', 'kubectl delete --ignore-not-found -f shop.yaml'],
  [
    'kubectl apply -n shop -f a.yaml --server-side -f b.yaml',
    'kubectl delete --ignore-not-found -n shop -f a.yaml -f b.yaml',
  ],
  [
    'kubectl create --filename=shop.yaml --save-config',
    'kubectl delete --ignore-not-found --filename=shop.yaml',
  ],
  ['kubectl apply -k config/samples --wait', 'kubectl delete --ignore-not-found -k config/samples'],
  ['kubectl apply -l app=web -f dir', 'kubectl delete --ignore-not-found -l app=web -f dir'],
  ['kubectl apply -R -f dir', 'kubectl delete --ignore-not-found -R -f dir'],
])('%s is taken back by %s', (command, reset) => {
  expect(resetFor(command.split(' '))).toBe(reset);
});

test.each([
  'make sample',
  'kubectl scale deployment web --replicas 2',
  'kubectl apply -f -',
  'kubectl apply -nshop -f shop.yaml',
  'kubectl apply',
])('of %s nobody knows how it is taken back', (command) => {
  expect(() => resetFor(command.split(' '))).toThrow('does not know how to take back');
});

async function scenario(command: string[], reset = 'true') {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-scenario-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const cluster = {
    name: 'dev',
    server: 'https://one:6443',
    caFile: '',
    caData: '',
    tlsServerName: '',
    skipTLSVerify: false,
  };
  const context = { name: 'dev', cluster: 'dev', user: 'me', namespace: '' };
  const api = { pinned: { cluster, context } as never, kubeconfigFiles: ['/home/me/config'] };
  return await createScenario({ command, reset }, { api, directory, cwd: directory, env: process.env });
}

test('the commands work in the session’s cluster, and in its directory', async () => {
  const { run } = await scenario(['sh', '-c', 'echo "$KUBECONFIG"; cat scenario-kubeconfig; exit 3']);
  const failed = await run(new AbortController().signal);
  expect(failed).toContain('ended with exit code 3');
  expect(failed).toContain('scenario-kubeconfig:/home/me/config');
  expect(failed).toContain('"current-context":"dev"');
});

test('a command that is missing or interrupted is said to be', async () => {
  const { run, reset } = await scenario(['no-such-program-here'], 'exit 0');
  const { signal } = new AbortController();
  expect(await run(signal)).toBe('`no-such-program-here` was not found.');
  expect(await reset(signal)).toBeUndefined();
  const ending = new AbortController();
  const slow = (await scenario(['sleep', '30'])).run(ending.signal);
  ending.abort();
  await expect(slow).rejects.toThrow();
});
