import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** What a person sees while they work, in this order. */
const WORK = [
  'kube-apiserver calls the webhooks on this machine',
  'Every review was recorded',
  'CREATE Application default/application-sample',
  'Edit and save',
  'answers changed',
  'Required value: no image? says the code that was just saved',
];
const END = [
  'That was devloop, in ',
  'how to remove it:',
  'a file to edit, internal/webhook/v1/application_webhook.go; npm run demo -- --stop deletes it.',
];

/** Runs the demo, which must print these texts in this order, and nothing after the last. */
async function shows(options: string[], texts: string[]): Promise<void> {
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/demo.ts', ...options], {
    cwd: ROOT,
  });
  const left = texts.reduce<string>((rest, text) => {
    expect(rest, stdout).toContain(text);
    return rest.slice(rest.indexOf(text) + text.length);
  }, stdout);
  expect(left.trim(), stdout).toBe('');
}

it('the demo shows a review denied by each build, the replay between them, and how to go on in a cluster', async () => {
  const [calls, ...work] = WORK;
  await shows(
    [],
    [
      ...['1. devloop runs the operator', 'open http://127.0.0.1:', 'export KUBECONFIG='],
      ...[`2. ${calls}`, 'Required value: an Application needs an image\n', ...work],
      ...['6. Ctrl-C ends it all', '7. After: nothing of it runs', 'was refused', 'Removed the kubeconfig'],
      ...[END[0]!, END[1]!, 'npm run demo -- --cluster\n', 'npm run demo -- --keep\n', END[2]!],
    ],
  );
});

it('in a cluster, it also shows what answers before and after', async () => {
  const [calls, ...work] = WORK;
  const inCluster = 'Required value: an Application needs an image\n';
  await shows(
    ['--cluster'],
    [
      ...['A Kubernetes cluster, and an operator in it', '1. Before', inCluster],
      ...['2. devloop takes over', 'open http://127.0.0.1:'],
      // The first answer from this machine differs from the cluster's answer.
      ...[`3. ${calls}`, 'Required value: an Application needs an image, says this machine', ...work],
      ...['8. Ctrl-C restores everything', '9. After: the cluster is as before', inCluster],
      ...[END[0]!, END[1]!, 'npm run demo -- --cluster --keep\n', END[2]!],
    ],
  );
});
