import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCheckout } from '../../../src/operator/sources.ts';

let root: string;
beforeEach(async () => {
  root = join(await mkdtemp(join(tmpdir(), 'devloop-checkout-')), 'shop-operator');
});
afterEach(async () => await rm(dirname(root), { recursive: true, force: true }));

async function lay(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
}

const groupversion = (group: string): string =>
  `// +kubebuilder:object:generate=true\n// +groupName=${group}\npackage v1\n`;
const marker = (path: string): string =>
  `// +kubebuilder:webhook:path=${path},mutating=true,failurePolicy=fail\nfunc (r *Order) Default() {}\n`;

describe('the layouts of kubebuilder', () => {
  it.each([
    [
      'v2, v3',
      'api/v1/groupversion_info.go',
      'api/v1/order_webhook.go',
      'layout: go.kubebuilder.io/v3\nprojectName: shop\n',
    ],
    [
      'v3 multigroup',
      'apis/shop/v1/groupversion_info.go',
      'apis/shop/v1/order_webhook.go',
      'multigroup: true\nprojectName: "shop"\n',
    ],
    [
      'v4',
      'api/v1/groupversion_info.go',
      'internal/webhook/v1/order_webhook.go',
      'layout:\n- go.kubebuilder.io/v4\nprojectName: shop\n',
    ],
  ])('%s: group, paths, names', async (_layout, groupFile, webhookFile, project) => {
    await lay({
      PROJECT: project,
      'go.mod': 'module github.com/acme/shop-operator/v2\n\ngo 1.24\n',
      [groupFile]: groupversion('shop.example.com'),
      [webhookFile]: marker('/mutate-shop-example-com-v1-order'),
      'internal/webhook/v1/order_webhook_test.go': marker('/from-a-test'),
    });
    const hints = await readCheckout(root);
    expect([...hints.groups]).toEqual(['shop.example.com']);
    expect([...hints.paths]).toEqual(['/mutate-shop-example-com-v1-order']);
    expect([...hints.names].sort()).toEqual(['shop', 'shop-operator']);
    expect(hints.declaresWebhooks).toBe(true);
  });
});

describe('what is only mentioned', () => {
  it('is not the checkout’s own: other CRDs, groups of clients, vendored code, test data', async () => {
    await lay({
      'go.mod': 'module example.com/shop\n',
      'api/v1/groupversion_info.go': groupversion('shop.example.com'),
      'config/crd/external/cert-manager.yaml':
        'kind: CustomResourceDefinition\nspec:\n  group: cert-manager.io\n',
      'test/crds/prometheus.yaml': 'kind: CustomResourceDefinition\nspec:\n  group: monitoring.coreos.com\n',
      'internal/client.go':
        'var gv = schema.GroupVersion{Group: "argoproj.io", Version: "v1"}\nconst Group = "kyverno.io"\n',
      'vendor/cert-manager/types.go': groupversion('cert-manager.io'),
      'testdata/types.go': groupversion('testdata.io'),
      '.cache/types.go': groupversion('cache.io'),
      'test/e2e/types.go': groupversion('e2e.io'),
    });
    expect([...(await readCheckout(root)).groups]).toEqual(['shop.example.com']);
  });

  it('in a bundled manifest counts as a path of a manifest only, and declares no webhook', async () => {
    await lay({
      'config/bundle.yaml':
        'kind: ValidatingWebhookConfiguration\nwebhooks:\n- clientConfig:\n    service:\n      path: /validate-other-io-v1-thing\n',
    });
    const hints = await readCheckout(root);
    expect([...hints.paths]).toEqual([]);
    expect([...hints.manifestPaths]).toEqual(['/validate-other-io-v1-thing']);
    expect(hints.declaresWebhooks).toBe(false);
  });
});

it('takes no name from a directory that is called as half of a cluster is', async () => {
  root = join(dirname(root), 'operator');
  await lay({ 'go.mod': 'module example.com/controller\n' });
  expect([...(await readCheckout(root)).names]).toEqual([]);
});

it('reads an empty directory, and one that does not exist', async () => {
  await lay({});
  expect((await readCheckout(root)).groups.size).toBe(0);
});
