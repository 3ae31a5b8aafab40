import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { goTest } from '../../../src/checkout/go/review-test.ts';
import { findWebhookSetups, type WebhookSetup } from '../../../src/checkout/go/webhook-setup.ts';
import { plainJson } from '../../../src/phrases.ts';
import { curlCommand, requireKept } from '../../../src/reviews/export.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { testReview } from '../../../src/reviews/test-review.ts';

const SAMPLE = join(import.meta.dirname, '../../../examples/application-operator');
const PATH = '/validate-apps-example-com-v1-application';

function record(name: string, path = PATH): ReviewRecord {
  return {
    ...{
      v: 1,
      id: 'r-000041',
      at: '',
      kind: 'admission',
      webhook: 'v',
      path,
      port: 9443,
      operation: 'CREATE',
    },
    ...{ object: { namespace: 'default', name }, verdict: 'denied' },
    ms: { held: 0, controller: 1, total: 1, budget: 1 },
    request: { kind: 'AdmissionReview', request: { uid: 'u', name } },
    response: { response: { allowed: false, status: { code: 422, message: name } } },
  };
}

it('a curl command goes where the controller listens instead of the recorded port', () => {
  const command = curlCommand(requireKept(record('shop')), new Map([[9443, 40123]]));
  expect(command).toContain(`https://127.0.0.1:40123${PATH}`);
});

it('a curl command sends exactly the review as a dry run, whatever is in it', async () => {
  const bin = await mkdtemp(join(tmpdir(), 'devloop-curl-'));
  onTestFinished(() => rm(bin, { recursive: true }));
  await writeFile(join(bin, 'curl'), '#!/bin/sh\nfor last; do :; done\nprintf "%s\\n" "$last"\ncat\n');
  await chmod(join(bin, 'curl'), 0o755);
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  const nasty = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom("'", '\nREVIEW\n', '$(touch broken)', '`touch broken`', '\\', '"; touch broken; "'),
  );
  fc.assert(
    fc.property(nasty, fc.constantFrom("/it's", '/$(touch broken)', '/a b', '/*'), (name, path) => {
      const { stdout } = spawnSync('sh', {
        input: curlCommand(requireKept(record(name, path))),
        env,
        cwd: bin,
      });
      const [url, ...body] = stdout.toString().split('\n');
      expect(url).toBe(`https://127.0.0.1:9443${path}`);
      const { request } = JSON.parse(body.join('\n'));
      expect(request).toEqual({ uid: 'u', name, dryRun: true });
    }),
    { numRuns: 40 },
  );
  expect(spawnSync('ls', { cwd: bin }).stdout.toString()).toBe('curl\n');
});

it('text that a terminal or Go would interpret stays the same value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const json = plainJson({ text: `${text}\`\u009b\ufeff` });
      expect(JSON.parse(json)).toEqual({ text: `${text}\`\u009b\ufeff` });
      expect(json).not.toMatch(/[`\u007f-\u009f\ufeff]/);
    }),
  );
});

it("finds how the sample operator's own sources register a webhook", async () => {
  expect(await findWebhookSetups(new Checkout(SAMPLE), [PATH])).toEqual([
    {
      packageName: 'v1',
      directory: 'internal/webhook/v1',
      calls: ['SetupApplicationWebhookWithManager(mgr)'],
      schemes: ['examplev1.AddToScheme'],
      imports: ['examplev1 "example.com/application-operator/api/v1"'],
      controllerRuntime: 24,
    },
  ]);
  expect(await findWebhookSetups(new Checkout(SAMPLE), ['/elsewhere'])).toMatchObject([
    { packageName: 'main', calls: [] },
  ]);
});

it('reads the sources beside a file that an editor has locked', async () => {
  const root = await mkdtemp(join(tmpdir(), 'devloop-export-'));
  onTestFinished(() => rm(root, { recursive: true }));
  await writeFile(join(root, 'go.mod'), 'module example.com/shop\n');
  const setup = 'func (r *Shop) SetupWebhookWithManager(mgr ctrl.Manager) error {\n}\n';
  const imported = 'import ctrl "sigs.k8s.io/controller-runtime"\n';
  const text = `package shop\n\n${imported}\n// +kubebuilder:webhook:path=/validate-shop\n${setup}\nvar AddToScheme = 1\n`;
  await writeFile(join(root, 'shop.go'), text);
  // As Emacs does.
  await symlink('ann@host.1:2', join(root, '.#shop.go'));
  expect(await findWebhookSetups(new Checkout(root), ['/validate-shop'])).toMatchObject([
    { packageName: 'shop', calls: ['(&Shop{}).SetupWebhookWithManager(mgr)'], schemes: ['AddToScheme'] },
  ]);
});

const OLD: WebhookSetup = {
  packageName: 'v1alpha1',
  directory: 'api/v1alpha1',
  calls: ['(&Shop{}).SetupWebhookWithManager(mgr)'],
  schemes: ['AddToScheme'],
  imports: [],
  controllerRuntime: 14,
};

it('a Go test takes an answer whose status is null, as programs in other languages write it', () => {
  const allowed = { allowed: true, status: null, warnings: null };
  const test = goTest(
    [testReview(requireKept({ ...record('shop'), verdict: 'allowed', response: { response: allowed } }))],
    OLD,
  );
  expect(test).toContain('"allowed": true');
});

it.each<[string, WebhookSetup]>([
  ['an operator of today', { ...OLD, controllerRuntime: 24, imports: ['examplev1 "example.com/api/v1"'] }],
  ['an old one', OLD],
  ['one without the usual functions', { ...OLD, calls: [] }],
  ['one without controller-runtime', { ...OLD, calls: [], controllerRuntime: undefined }],
])('a Go test is formatted as gofmt formats it: %s', (_, setup) => {
  const text = goTest([testReview(requireKept(record('we`b\u009b\ufeff\ud800')))], setup);
  const { stdout, stderr } = spawnSync('gofmt', { input: text });
  expect(stderr.toString()).toBe('');
  expect(stdout.toString()).toBe(text);
});
