import { expect, test } from 'vitest';
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

function scenario(command: string[], reset = 'true') {
  return createScenario({ command, reset }, { cwd: '/', env: { ...process.env, KUBECONFIG: '/some/file' } });
}

test('the commands have the environment and the directory that they are given', async () => {
  const { run } = scenario(['sh', '-c', 'echo "$KUBECONFIG"; pwd; exit 3']);
  const failed = await run(new AbortController().signal);
  expect(failed).toContain('ended with exit code 3');
  expect(failed).toContain('/some/file\n/');
});

test('a command that is missing or interrupted is said to be', async () => {
  const { run, reset } = scenario(['no-such-program-here'], 'exit 0');
  const { signal } = new AbortController();
  expect(await run(signal)).toBe('`no-such-program-here` was not found.');
  expect(await reset(signal)).toBeUndefined();
  const ending = new AbortController();
  const slow = scenario(['sleep', '30']).run(ending.signal);
  ending.abort();
  await expect(slow).rejects.toThrow();
});
