import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** What a person sees, in this order. */
const SEEN = [
  'A Kubernetes cluster, and an operator in it',
  '1. Before',
  'Required value: an Application needs an image\n',
  '2. devloop takes over',
  'open http://127.0.0.1:',
  '3. kube-apiserver calls the webhooks on this machine',
  // The first answer from this machine differs from the cluster's answer.
  'Required value: an Application needs an image, says this machine',
  '5. Every review was recorded',
  'CREATE Application default/application-sample',
  '6. Edit and save',
  'answers changed',
  'Required value: no image? says the code that was just saved',
  '8. Ctrl-C restores everything',
  '9. After: the cluster is as before',
  'Required value: an Application needs an image\n',
  'That was devloop, in ',
  'how to remove it:',
  'To try it yourself: npm run demo -- --keep\n',
  'a file to edit, internal/webhook/v1/application_webhook.go; npm run demo -- --stop ends it.',
];

it('the demo shows a review denied by each build, the replay between them, and how to go on', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/demo.ts'], { cwd: ROOT });
  const left = SEEN.reduce<string>((rest, text) => {
    expect(rest, stdout).toContain(text);
    return rest.slice(rest.indexOf(text) + text.length);
  }, stdout);
  expect(left.trim(), stdout).toBe('');
});
